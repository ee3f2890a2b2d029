// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "config/fields.hpp"
#include "radio/drivers.hpp"
#include "radio/trigger/condition.hpp"
#include "radio/trigger/event.hpp"

namespace iqd::radio {
namespace trigger {
namespace {

/// Triggers an event when a port meets a condition: once per message, at the first place.
class TriggerSink final : public Sink {
 public:
  TriggerSink(const std::string& name, Watch watch) : event_(Event::named(name)), watch_(std::move(watch)) {}

  bool send(const Message& message) override {
    const auto hit = watch_.look(message, 0);
    if (!hit) return true;
    watch_.restart();
    const double rate = message.format->item_rate_hz;
    const double ahead = rate > 0 ? static_cast<double>(hit->begin) * 1e9 / rate : 0;
    event_->happens(message.time_ns == 0 ? std::nullopt : std::optional(message.time_ns + std::llround(ahead)));
    return true;
  }

 private:
  std::shared_ptr<Event> event_;
  Watch watch_;
};

class TriggerOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field("name", name_, {.help = "name of the event, for `trigger: {name: …}` of a file sink", .required = true});
    v.field("when", when_,
            {.help = "condition of the port: `items > 0`, `value < 1`, `level > -20 dB`, `peak > -1 dB`, `gap > 0`, "
                     "`time > 2026-03-31T12:00:00Z`",
             .required = true});
    v.field("window", window_s_, {.help = "window for level and peak", .unit = Unit::seconds, .low = 0, .high = 60});
  }
  void check(const PortFormat& format, const Section& section) const override {
    if (name_.empty() && section.has("name"))
      section.problem("name", "is empty; a file sink needs it to wait for the event");
    if (when_.empty()) return;  // the reader of the keys reports it
    std::string why;
    const auto condition = parse_condition(when_, why);
    if (!condition) return section.problem("when", fmt::format("'{}': {}", when_, why));
    if (!format.is_known()) return;
    if (why = unaskable(*condition, format); !why.empty()) section.problem("when", std::move(why));
  }
  std::unique_ptr<Sink> open(const PortFormat& format) const override {
    const std::int64_t window = std::llround(window_s_ * format.item_rate_hz);
    return std::make_unique<TriggerSink>(name_, Watch(require_condition(when_), format, window));
  }

 private:
  std::string name_;
  std::string when_;
  double window_s_ = 0.001;
};

}  // namespace
}  // namespace trigger

DriverEntry trigger_driver() {
  DriverEntry entry;
  entry.name = "trigger";
  entry.summary = "triggers recordings when a port meets a condition";
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<trigger::TriggerOptions>()); };
  return entry;
}

}  // namespace iqd::radio
