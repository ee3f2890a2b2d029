// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/triggered_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/integer.hpp"
#include "base/log.hpp"
#include "config/fields.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio::trigger {
namespace {

Message nothing_of(Message message) {
  message.extent = message.gap = 0;
  message.payload = {};
  return message;
}

/// An event of another port comes later than its samples: by as many blocks as are in flight, and this at least.
constexpr double kLateness = 0.25;
constexpr std::int64_t kLateBlocks = 4;

std::int64_t items_of(double seconds, const PortFormat& format) {
  constexpr double kMost = 1e15;  // more is in no memory
  return std::llround(std::min(seconds * format.item_rate_hz, kMost));
}

std::int64_t window_of(const Settings& settings, const PortFormat& format) {
  return std::max<std::int64_t>(items_of(settings.window_s, format), 1);
}

/// Items before those that a trigger may be found in: an event is heard of later than it was.
std::int64_t most_kept(const Settings& settings, const PortFormat& format) {
  const std::int64_t pre = items_of(settings.pre_s, format), window = window_of(settings, format);
  if (settings.name.empty()) return pre + window;
  return pre + std::max({window, items_of(kLateness, format), kLateBlocks * format.most()});
}

std::optional<Condition> condition_of(const Settings& settings) {
  if (settings.when.empty()) return std::nullopt;
  std::string why;
  std::optional<Condition> condition = parse_condition(settings.when, why);
  if (!condition) throw SetupError(fmt::format("trigger: when: '{}': {}", settings.when, why));
  return condition;
}

}  // namespace

void Settings::fields(FieldVisitor& v) {
  v.field("when", when,
          {.help = "a condition of the port: `level > -20 dB`, `peak > -1 dB`, `value > 0.5`, `gap > 0`, `time > "
                   "2026-03-31T12:00:00Z`"});
  v.field("name", name,
          {.help = "an event to wait for: of a sink `trigger`, of POST /api/triggers/NAME, or of SIGUSR1"});
  v.field("pre", pre_s, {.help = "how much before it is taken", .unit = Unit::seconds, .low = 0, .high = 3600});
  v.field("post", post_s, {.help = "how much behind it is taken", .unit = Unit::seconds, .low = 0, .high = 1e6});
  v.field("count", count, {.help = "how many times; 0: without end", .low = 0});
  v.field("window", window_s,
          {.help = "what level and peak are measured over", .unit = Unit::seconds, .low = 0, .high = 60});
}

void Settings::check(const PortFormat& format, const Section& section) const {
  if (!given())
    return section.problem("", "needs `when`, a condition of the port, or `name`, an event; `when: level > -20 dB`");
  if (!is_stream(format))
    return section.problem("", fmt::format("{} is {}; a trigger is for a stream [n] or [channel][n], where `pre` and "
                                           "`post` mean something",
                                           format.port, to_string(format.dims)));
  if (items_of(pre_s, format) + items_of(post_s, format) < 1)
    section.problem("post", fmt::format("`pre` and `post` together are not one sample at {} samples a second",
                                        format.item_rate_hz));
  if (when.empty()) return;
  std::string why;
  const auto condition = parse_condition(when, why);
  if (condition) why = unaskable(*condition, format);
  if (!why.empty()) section.problem("when", fmt::format("'{}': {}", when, why));
}

Needs Settings::needs(const PortFormat& format) const {
  if (!given() || !is_stream(format)) return {};
  // Messages are kept whole, and one more room is filled before the oldest is given back.
  const std::int64_t items = bounded_sum(most_kept(*this, format), 2 * format.most());
  return {{.what = "trigger: what is kept of " + format.port,
           .bytes = bounded_bytes(items, static_cast<std::size_t>(format.bytes(1)))}};
}

std::unique_ptr<Sink> Settings::put_before(std::unique_ptr<Sink> sink, const PortFormat& format,
                                           std::function<void()> over) const {
  if (!given()) return sink;
  return std::make_unique<TriggeredSink>(std::move(sink), *this, format, std::move(over));
}

TriggeredSink::TriggeredSink(std::unique_ptr<Sink> sink, const Settings& settings, const PortFormat& format,
                             std::function<void()> over)
    : sink_(std::move(sink)),
      settings_(settings),
      format_(format),
      over_(std::move(over)),
      pre_(items_of(settings.pre_s, format)),
      post_(items_of(settings.post_s, format)),
      most_kept_(most_kept(settings, format)) {
  if (const auto condition = condition_of(settings)) watch_.emplace(*condition, format, window_of(settings, format));
  if (!settings.name.empty()) listener_.emplace(Event::named(settings.name));
}

bool TriggeredSink::send(const Message& message) {
  bool taken = true;
  std::int64_t at = std::min(left_, message.extent);
  if (at > 0) {
    pass_over();
    taken = hand_on(message, 0, at);
    left_ -= at;
    if (left_ == 0) begin_or_end(false);
  }
  while (left_ == 0 && at < message.extent) {
    const std::optional<Stretch> stretch = next_stretch(message, at);
    if (!stretch) break;
    begin_or_end(true);
    taken = record(message, at, *stretch) && taken;
    const std::int64_t to = std::max({at, stretch->begin, std::min(stretch->end, message.extent)});
    left_ = std::max<std::int64_t>(stretch->end - to, 0);
    usable_ = std::clamp<std::int64_t>(at - stretch->end, 0, usable_);
    follows_ = true;
    at = to;
    forget();
    if (left_ == 0) begin_or_end(false);
  }
  if (left_ == 0) keep(message, at);
  // A sink may hold something back until it is called again.
  if (at == 0 && begun_ > 0) taken = sink_->send(nothing_of(message));
  return taken;
}

/// Hands on what there is of a stretch: kept, and of this message from the item `from` on.
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
  if (stretch.begin < from) taken = hand_on_kept(from - stretch.begin, std::max<std::int64_t>(from - stretch.end, 0));
  const std::int64_t begin = std::max(stretch.begin, from), end = std::min(stretch.end, message.extent);
  if (end > begin) taken = hand_on(message, begin, end - begin) && taken;
  trigger_ = nullptr;
  return taken;
}

/// What the next trigger at or behind `from` makes a recording of. It does not begin before what was kept.
std::optional<TriggeredSink::Stretch> TriggeredSink::next_stretch(const Message& message, std::int64_t from) {
  if (settings_.count > 0 && begun_ >= settings_.count) return std::nullopt;
  std::optional<Stretch> stretch;
  const auto take = [&](std::int64_t at, std::int64_t end, std::string_view reason) {
    if (!stretch || at - pre_ < stretch->begin)
      stretch = Stretch{at - pre_, std::max(at + post_, end), at, end, reason};
  };
  if (const auto at = heard(message, from)) take(*at, *at, settings_.name);
  if (watch_)
    if (const auto hit = watch_->look(message, from)) take(hit->begin, hit->end, settings_.when);
  if (stretch) stretch->begin = std::max(stretch->begin, from - usable_);
  return stretch;
}

/// Where the next event that was told lies; nothing where there is none, or its samples have not come yet. One that is
/// in a recording already is passed over.
std::optional<std::int64_t> TriggeredSink::heard(const Message& message, std::int64_t from) {
  const std::int64_t oldest = from - usable_;
  while (listener_) {
    if (!waits_) waits_ = listener_->take();
    if (!waits_) break;
    double at = static_cast<double>(from);
    if (waits_->time_ns && message.time_ns != 0)
      at = std::round(static_cast<double>(*waits_->time_ns - message.time_ns) * format_.item_rate_hz / 1e9);
    if (at >= static_cast<double>(message.extent)) break;
    waits_.reset();
    if (at >= static_cast<double>(oldest)) return static_cast<std::int64_t>(at);
    if (!follows_) return oldest;  // its samples are gone: what is left
  }
  return std::nullopt;
}

/// While a recording is made, an event that is about the samples of now is in it.
void TriggeredSink::pass_over() {
  while (listener_ && (waits_ || (waits_ = listener_->take())) && !waits_->time_ns) waits_.reset();
}

bool TriggeredSink::hand_on(const Message& message, std::int64_t from, std::int64_t n) {
  Message part = from == 0 && n == message.extent ? message : part_of(message, from, n, part_);
  part.trigger = std::exchange(trigger_, nullptr);
  return sink_->send(part);
}

/// Of what was kept: from the `oldest` item, counted back from the end, to the `newest`, which stays.
bool TriggeredSink::hand_on_kept(std::int64_t oldest, std::int64_t newest) {
  bool taken = true;
  std::int64_t begin = kept_items_ - oldest, end = kept_items_ - newest;
  for (const Kept& kept : kept_) {
    const std::int64_t n = kept.message.extent;
    const std::int64_t from = std::max<std::int64_t>(begin, 0), to = std::min(end, n);
    if (from < to) taken = hand_on(kept.message, from, to - from) && taken;
    begin -= n;
    end -= n;
  }
  return taken;
}

/// Lets go of messages that no recording can want any more.
void TriggeredSink::forget() {
  follows_ = follows_ && usable_ <= most_kept_;
  usable_ = std::min(usable_, most_kept_);
  while (!kept_.empty() && kept_items_ - kept_.front().message.extent >= usable_) {
    kept_items_ -= kept_.front().message.extent;
    spare_.push_back(std::move(kept_.front().payload));
    kept_.pop_front();
  }
}

void TriggeredSink::keep(const Message& message, std::int64_t from) {
  const std::int64_t n = message.extent - from;
  if (n <= 0 || (settings_.count > 0 && begun_ >= settings_.count)) return;
  Kept& kept = kept_.emplace_back();
  if (!spare_.empty()) kept.payload = std::move(spare_.back()), spare_.pop_back();
  const Message part = part_of(message, from, n, part_);
  kept.payload.assign(part.payload.begin(), part.payload.end());
  kept.message = part;
  kept.message.retuned_hz = part.frequency_hz() - format_.frequency_hz;
  kept.message.format = &format_;
  kept.message.payload = kept.payload;
  kept.message.facts = {};
  kept_items_ += n;
  usable_ += n;
  forget();
}

void TriggeredSink::begin_or_end(bool begins) {
  if (begins) {
    ++begun_;
    if (watch_) watch_->restart();
    if (std::uint64_t ignored = 0; told_.allow(ignored))
      log::info("{}: trigger {}: {}", format_.port, begun_, settings_.when.empty() ? settings_.name : settings_.when);
  } else if (settings_.count > 0 && begun_ >= settings_.count && over_) {
    over_();
  }
}

}  // namespace iqd::radio::trigger
