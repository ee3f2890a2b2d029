// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace iqd {

/// What a watched port delivered: a piece of one message, or the largest values of several.
struct WatchCopy {
  std::uint64_t traces = 0;  // bit t: trace t is in it
  std::int64_t messages = 0;
  std::int64_t count = 0;  // samples, bins, points or values of each trace; items: all since the previous copy
  std::int64_t time_ns = 0;
  double frequency_hz = 0;    // the port's
  std::int64_t gap = 0;       // source samples missing before it, since the previous copy
  bool retuned = false;       // since the previous copy
  std::uint64_t clipped = 0;  // bit c: channel c has clipped since the previous copy
  /// Trace t begins at t times the capacity of a trace. Not resident before it is used.
  std::unique_ptr<std::byte[]> bytes;
};

}  // namespace iqd
