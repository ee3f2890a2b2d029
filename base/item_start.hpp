// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/driver.hpp"

/// Where the items of a message begin, if a column of facts says so.
namespace iqd {

/// Whether the column has the positions at which the items begin.
inline bool has_starts(const FactColumn& column) noexcept {
  return column.key == "start" && column.element == Element::i64;
}

/// The source sample at which an item begins.
inline SampleIndex start_of(const FactColumn& starts, std::int64_t item) noexcept {
  __extension__ using Wide = __int128;  // holds any product of two positions
  std::int64_t position = 0;
  std::memcpy(&position, starts.values + static_cast<std::size_t>(item) * sizeof position, sizeof position);
  return static_cast<SampleIndex>(Wide{position} * starts.samples / starts.positions);
}

/// The time of a source sample near the message's own; the message's if the rate is unknown.
inline std::int64_t time_of(const Message& message, SampleIndex sample) noexcept {
  const double rate = message.format->rate_hz;
  if (!(rate > 0)) return message.time_ns;
  return message.time_ns + std::llround(static_cast<double>(sample - message.sample) * 1e9 / rate);
}

}  // namespace iqd
