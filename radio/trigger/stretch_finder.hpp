// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/driver.hpp"
#include "radio/trigger/condition.hpp"
#include "radio/trigger/event_positions.hpp"
#include "radio/trigger/past.hpp"
#include "radio/trigger/settings.hpp"

namespace iqd::radio::trigger {

/// What one trigger records; items, counted from the message's first.
struct Stretch {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t found;      // position of the trigger
  std::int64_t found_end;  // after the last item that was examined for it
  std::string_view reason;
};

/// Finds the stretches to be recorded around triggers: a condition of the port, an event, or both. One thread.
class StretchFinder {
 public:
  /// `settings` must outlive it. Throws SetupError if the condition is invalid.
  StretchFinder(const Settings& settings, const PortFormat& format);

  /// The stretch of the next trigger at or after `from`. It does not begin before the past's usable items.
  std::optional<Stretch> next(const Message& message, std::int64_t from, const Past& past);
  /// During a recording: events for the current samples are part of it.
  void pass_over();
  /// A recording begins: what follows it does not continue what was examined before.
  void restart() noexcept;

 private:
  const Settings& settings_;
  std::int64_t pre_, post_;  // items
  std::optional<Watch> watch_;
  std::optional<EventPositions> events_;
};

}  // namespace iqd::radio::trigger
