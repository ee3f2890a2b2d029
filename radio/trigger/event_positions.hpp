// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "radio/trigger/event.hpp"
#include "radio/trigger/past.hpp"

namespace iqd::radio::trigger {

/// Where in a stream the events with a name happen, by their times. One thread; events may come from others.
class EventPositions {
 public:
  EventPositions(const std::string& name, double item_rate_hz)
      : listener_(Event::named(name)), item_rate_hz_(item_rate_hz) {}

  /// The position of the next event, counted from the message's first item; one without a time is at `from`. Nothing if
  /// there is none, or if its samples have not arrived yet. Skips events that are in a recording already.
  std::optional<std::int64_t> next(const Message& message, std::int64_t from, const Past& past);
  /// During a recording: an event for the current samples is part of it.
  void pass_over();

 private:
  Event::Listener listener_;
  double item_rate_hz_;
  std::optional<Event::Listener::Heard> waits_;  // an event whose samples have not arrived yet
};

}  // namespace iqd::radio::trigger
