// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "signal/estimates/covariance.hpp"

namespace iqd::mimo_channel_estimator {

/// A lower triangle L in single precision, for rows of blocks [antenna][column]: it takes the place of a matrix product
/// for each column of each block.
struct Triangle {
  Triangle(const Covariance& from, int antennas, int columns) noexcept;

  /// to = turn L from, of `count` numbers, whole blocks. `to` does not overlap `from`.
  void apply(const cf32* from, std::int64_t count, cf32* to, cf32 turn = {1, 0}) const noexcept;

  // For apply(). Each float of a row takes from the number that stands `n` antennas before it: from the same part, and
  // from the other. A vector of floats may begin anywhere in a block.
  static constexpr int kMostLanes = 8;
  static constexpr int kMostFloats = 2 * kMostAntennas * kMostAntennas;
  int antennas;
  int columns;
  float same[kMostAntennas][kMostFloats + kMostLanes] = {};
  float other[kMostAntennas][kMostFloats + kMostLanes] = {};
};

}  // namespace iqd::mimo_channel_estimator
