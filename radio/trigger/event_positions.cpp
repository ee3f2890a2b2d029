// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/event_positions.hpp"

#include <cmath>

namespace iqd::radio::trigger {

std::optional<std::int64_t> EventPositions::next(const Message& message, std::int64_t from, const Past& past) {
  const std::int64_t oldest = from - past.usable();
  while (waits_ || (waits_ = listener_.take())) {
    double at = static_cast<double>(from);
    if (waits_->time_ns && message.time_ns != 0)
      at = std::round(static_cast<double>(*waits_->time_ns - message.time_ns) * item_rate_hz_ / 1e9);
    if (at >= static_cast<double>(message.extent)) break;
    waits_.reset();
    if (at >= static_cast<double>(oldest)) return static_cast<std::int64_t>(at);
    if (!past.follows()) return oldest;  // its samples are gone: take what is left
  }
  return std::nullopt;
}

void EventPositions::pass_over() {
  while ((waits_ || (waits_ = listener_.take())) && !waits_->time_ns) waits_.reset();
}

}  // namespace iqd::radio::trigger
