// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "config/fields.hpp"
#include "radio/message_part.hpp"
#include "radio/trigger/condition.hpp"
#include "radio/trigger/triggered_sink.hpp"

namespace iqd::radio::trigger {
namespace {

/// An event of another port comes later than its samples: by the blocks in flight, and by at least this time.
constexpr double kLateness = 0.25;
constexpr std::int64_t kLateBlocks = 4;

std::int64_t items_of(double seconds, const PortFormat& format) {
  constexpr double kMost = 1e15;  // more than fits any memory
  return std::llround(std::min(seconds * format.item_rate_hz, kMost));
}

}  // namespace

void Settings::fields(FieldVisitor& v) {
  v.field("when", when,
          {.help = "condition of the port: `level > -20 dB`, `peak > -1 dB`, `value > 0.5`, `gap > 0`, `time > "
                   "2026-03-31T12:00:00Z`"});
  v.field("name", name, {.help = "event to wait for: from a sink `trigger`, POST /api/triggers/NAME, or SIGUSR1"});
  v.field("pre", pre_s, {.help = "time to record before the trigger", .unit = Unit::seconds, .low = 0, .high = 3600});
  v.field("post", post_s, {.help = "time to record after the trigger", .unit = Unit::seconds, .low = 0, .high = 1e6});
  v.field("count", count, {.help = "number of recordings; 0: no limit", .low = 0});
  v.field("window", window_s, {.help = "window for level and peak", .unit = Unit::seconds, .low = 0, .high = 60});
}

void Settings::check(const PortFormat& format, const Section& section) const {
  if (!given())
    return section.problem("",
                           "needs `when`, a condition of the port, or `name`, an event, e.g. `when: level > -20 dB`");
  if (format.is_known() && !is_stream(format))
    return section.problem("", fmt::format("{} is {}; a trigger is for a stream [n] or [channel][n], which `pre` and "
                                           "`post` need",
                                           format.port, to_string(format.dims)));
  if (format.is_known() && pre(format) + post(format) < 1)
    section.problem("post", fmt::format("`pre` and `post` together are not one sample at {} samples a second",
                                        format.item_rate_hz));
  if (when.empty()) return;
  std::string why;
  const auto condition = parse_condition(when, why);
  if (condition && format.is_known()) why = unaskable(*condition, format);
  if (!why.empty()) section.problem("when", fmt::format("'{}': {}", when, why));
}

std::int64_t Settings::pre(const PortFormat& format) const {
  return items_of(pre_s, format);
}

std::int64_t Settings::post(const PortFormat& format) const {
  return items_of(post_s, format);
}

std::int64_t Settings::window(const PortFormat& format) const {
  return std::max<std::int64_t>(items_of(window_s, format), 1);
}

std::int64_t Settings::most_kept(const PortFormat& format) const {
  if (name.empty()) return pre(format) + window(format);
  return pre(format) + std::max({window(format), items_of(kLateness, format), kLateBlocks * format.most()});
}

Needs Settings::needs(const PortFormat& format) const {
  if (!given() || !is_stream(format)) return {};
  // Messages are kept whole, and the next one is stored before the oldest is released.
  const std::int64_t items = bounded_sum(most_kept(format), 2 * format.most());
  return {{.what = "trigger: memory of " + format.port,
           .bytes = bounded_bytes(items, static_cast<std::size_t>(format.bytes(1)))}};
}

std::unique_ptr<Sink> Settings::put_before(std::unique_ptr<Sink> sink, const PortFormat& format,
                                           std::function<void()> over) const {
  if (!given()) return sink;
  return std::make_unique<TriggeredSink>(std::move(sink), *this, format, std::move(over));
}

}  // namespace iqd::radio::trigger
