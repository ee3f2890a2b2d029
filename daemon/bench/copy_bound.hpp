// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/backend.hpp"
#include "base/clock.hpp"

/// What copies reach, measured: the bounds that stages are held against.
namespace iqd {

/// Bytes a second that this core copies, for blocks of this size: reading and writing once is the least a stage can do.
double copy_bytes_per_second(std::size_t bytes);
/// The same within a device's memory.
double device_copy_bytes_per_second(Backend& backend, std::size_t bytes);
/// How often a second a host and a device exchange so many bytes in and out, with so many blocks under way.
double exchanges_per_second(Backend& backend, std::int64_t lanes, std::size_t in, std::size_t out);

inline constexpr int kWarmUp = 3;
inline constexpr int kLeast = 10;  // calls that count, however slow they are

/// Calls `start(lane)` and `finish(lane)` in turn, so that all lanes are at work, for so many seconds; calls a second.
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
