// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/integer.hpp"
#include "base/views.hpp"

/// For estimators that measure a stream in windows: the stream is cut into hops at multiples of `hop`, and a window is
/// the hop before a place and the one after it.
namespace iqd::dsp {

/// The hops that a block's output depends on, and how much of each window exists.
struct Hops {
  IQD_HOST_DEVICE Hops(std::int64_t hop, std::int64_t first, std::int64_t end, std::int64_t first_new,
                       std::int64_t end_new) noexcept
      : hop(hop),
        first(first),
        end(end),
        begin(floor_div(first_new, hop)),
        last(end_new > first_new ? floor_div(end_new - 1, hop) + 1 : begin) {}

  /// Samples of the window around the beginning of hop g.
  IQD_HOST_DEVICE std::int64_t samples(std::int64_t g) const noexcept {
    const std::int64_t from = (g - 1) * hop, to = (g + 1) * hop;
    return (to < end ? to : end) - (from > first ? from : first);
  }
  /// The middle of these samples, relative to that place.
  IQD_HOST_DEVICE double middle(std::int64_t g) const noexcept {
    const std::int64_t from = (g - 1) * hop, to = (g + 1) * hop;
    const std::int64_t both = (to < end ? to : end) - 1 + (from > first ? from : first) - 2 * g * hop;
    return static_cast<double>(both) / 2;
  }
  /// The hop whose window is used for g: its own, or a neighbour's if less than half of its own exists at the start or
  /// end of a stream.
  IQD_HOST_DEVICE std::int64_t source(std::int64_t g) const noexcept {
    if (samples(g) >= hop) return g;
    if (g < last && samples(g + 1) > samples(g)) return g + 1;
    return g > begin && samples(g - 1) > samples(g) ? g - 1 : g;
  }

  std::int64_t hop;
  std::int64_t first, end;  // the available part of the stream
  std::int64_t begin;       // the hop in which the new part begins
  std::int64_t last;        // the hop after the new part: measured, but without output
};

}  // namespace iqd::dsp
