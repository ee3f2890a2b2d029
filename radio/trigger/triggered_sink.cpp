// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/triggered_sink.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "radio/message_part.hpp"

namespace iqd::radio::trigger {
namespace {

Message nothing_of(Message message) {
  message.extent = message.gap = 0;
  message.payload = {};
  return message;
}

}  // namespace

TriggeredSink::TriggeredSink(std::unique_ptr<Sink> sink, const Settings& settings, const PortFormat& format,
                             std::function<void()> over)
    : sink_(std::move(sink)),
      settings_(settings),
      format_(format),
      over_(std::move(over)),
      finder_(settings_, format_),
      past_(format_, settings.most_kept(format)) {}

bool TriggeredSink::send(const Message& message) {
  bool taken = true;
  std::int64_t at = std::min(left_, message.extent);
  if (at > 0) {
    finder_.pass_over();
    taken = hand_on(message, 0, at);
    left_ -= at;
    if (left_ == 0) end();
  }
  while (left_ == 0 && at < message.extent && !is_over()) {
    const std::optional<Stretch> stretch = finder_.next(message, at, past_);
    if (!stretch) break;
    begin();
    taken = record(message, at, *stretch) && taken;
    const std::int64_t to = std::max({at, stretch->begin, std::min(stretch->end, message.extent)});
    left_ = std::max<std::int64_t>(stretch->end - to, 0);
    past_.passed_on(at - stretch->end);
    at = to;
    if (left_ == 0) end();
  }
  if (left_ == 0 && at < message.extent && !is_over()) past_.keep(message, at);
  // A sink may hold something back until the next call.
  if (at == 0 && begun_ > 0) taken = sink_->send(nothing_of(message));
  return taken;
}

/// Passes on the available part of a stretch: kept items, and those of this message from the item `from` on.
bool TriggeredSink::record(const Message& message, std::int64_t from, const Stretch& stretch) {
  const std::int64_t found = std::max(stretch.found, stretch.begin);
  Trigger trigger{.reason = stretch.reason,
                  .number = begun_,
                  .first = found - stretch.begin,
                  .items = std::max<std::int64_t>(stretch.found_end - found, 1)};
  if (message.time_ns != 0)
    trigger.time_ns = message.time_ns + std::llround(static_cast<double>(found) * 1e9 / format_.item_rate_hz);
  trigger_ = &trigger;
  bool taken = true;
  if (stretch.begin < from) taken = hand_on_past(from - stretch.begin, std::max<std::int64_t>(from - stretch.end, 0));
  const std::int64_t begin = std::max(stretch.begin, from), end = std::min(stretch.end, message.extent);
  if (end > begin) taken = hand_on(message, begin, end - begin) && taken;
  trigger_ = nullptr;
  return taken;
}

bool TriggeredSink::hand_on(const Message& message, std::int64_t from, std::int64_t n) {
  Message part = from == 0 && n == message.extent ? message : part_of(message, from, n, part_);
  part.trigger = std::exchange(trigger_, nullptr);
  return sink_->send(part);
}

/// See Past::visit.
bool TriggeredSink::hand_on_past(std::int64_t oldest, std::int64_t newest) {
  bool taken = true;
  past_.visit(oldest, newest, [&](const Message& message, std::int64_t from, std::int64_t n) {
    taken = hand_on(message, from, n) && taken;
  });
  return taken;
}

void TriggeredSink::begin() {
  ++begun_;
  finder_.restart();
  if (std::uint64_t ignored = 0; lines_.allow(ignored))
    log::info("{}: trigger {}: {}", format_.port, begun_, settings_.when.empty() ? settings_.name : settings_.when);
}

void TriggeredSink::end() {
  if (is_over() && over_) over_();
}

}  // namespace iqd::radio::trigger
