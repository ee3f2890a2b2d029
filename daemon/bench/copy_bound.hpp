// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/backend.hpp"
#include "base/clock.hpp"

/// Measured copy speeds: the bounds that stages are compared with.
namespace iqd {

/// Bytes per second that this core copies in blocks of this size; a stage has to read and write at least once.
double copy_bytes_per_second(std::size_t bytes);
/// The same within a device's memory.
double device_copy_bytes_per_second(Backend& backend, std::size_t bytes);
/// Exchanges per second of `in` and `out` bytes between a host and a device, with `lanes` blocks in flight.
double exchanges_per_second(Backend& backend, std::int64_t lanes, std::size_t in, std::size_t out);

inline constexpr int kWarmUp = 3;
inline constexpr int kLeast = 10;  // minimum number of timed calls

/// Calls `start(lane)` and `finish(lane)` in turn for `seconds`, keeping all lanes busy. Returns calls per second.
template <class Start, class Finish>
double in_flight(std::int64_t lanes, double seconds, const Start& start, const Finish& finish) {
  std::int64_t started = 0, finished = 0;
  for (; started < lanes; ++started) start(started);
  for (; finished < kWarmUp * lanes; ++finished, ++started) finish(finished % lanes), start(started % lanes);
  const std::int64_t first = finished, begin = steady_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  for (; steady_ns() < end || finished < first + kLeast; ++finished, ++started) {
    finish(finished % lanes);
    start(started % lanes);
  }
  const double took = static_cast<double>(steady_ns() - begin);
  const std::int64_t counted = finished - first;
  for (; finished < started; ++finished) finish(finished % lanes);
  return static_cast<double>(counted) / took * 1e9;
}

}  // namespace iqd
