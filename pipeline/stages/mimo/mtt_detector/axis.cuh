// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "pipeline/stages/mimo/triangle.cuh"

/// The levels of one part, real or imaginary, of a square constellation's points: positions, nearest level, bits. Runs
/// on the host as well, for tests.
namespace iqd::mtt_detector {

IQD_HOST_DEVICE inline float saturated(float x) {
#ifdef __CUDA_ARCH__
  return __saturatef(x);
#else
  return x > 0 ? x < 1 ? x : 1 : 0;
#endif
}

template <int kAxisBits> struct Axis {
  static constexpr int kLevels = 1 << kAxisBits;
  static constexpr float kTop = kLevels - 1;  // the highest level

  /// The level at a share 0 … 1 of the way from the lowest to the highest; with two levels, by the sign of the share.
  static IQD_HOST_DEVICE float level_at(float share) {
    constexpr float kRounds = 8388608.0f;  // 2^23: sums with it are integers
    if constexpr (kLevels == 2) return copysignf(1.0f, share);
    return fmaf(2.0f, fmaf(saturated(share), kTop, kRounds) - kRounds, -kTop);
  }
  /// The same among the levels whose shares are `lowest` and more, and as far from the other end.
  static IQD_HOST_DEVICE float level_within(float share, float lowest) {
    constexpr float kRounds = 8388608.0f;
    if constexpr (kLevels == 2) return copysignf(1.0f, share);
    return fmaf(2.0f, fmaf(fminf(fmaxf(share, lowest), 1.0f - lowest), kTop, kRounds) - kRounds, -kTop);
  }
  static IQD_HOST_DEVICE float2 point(int k) {
    constexpr std::int32_t kWhole = 0x4b000000;  // bits of 2^23; the last bit counts 1
    constexpr int kMask = 2 * kLevels - 2;
    const std::int32_t re = (k >> (kAxisBits - 1) & kMask) | kWhole, im = (k << 1 & kMask) | kWhole;
    return {mimo::float_of_bits(re) - (8388608.0f + kTop), mimo::float_of_bits(im) - (8388608.0f + kTop)};
  }
  static IQD_HOST_DEVICE int place(float level) {
    return (mimo::bits_of_float(level + (8388608.0f + kTop)) & (2 * kLevels - 2)) >> 1;
  }

  /// Whether bit b of an axis is 1 at its i-th level, packed into one number so that the compiler can fold it.
  static constexpr std::uint64_t ones() {
    std::uint64_t all = 0;
    for (int b = 0; b < kAxisBits; ++b)
      for (int i = 0; i < kLevels; ++i)
        all |= std::uint64_t{qam::label(kAxisBits, i) >> (kAxisBits - 1 - b) & 1} << (b * kLevels + i);
    return all;
  }
  static constexpr std::uint64_t kOnes = ones();
  static IQD_HOST_DEVICE bool has_one(int b, int i) { return (kOnes >> (b * kLevels + i) & 1) != 0; }
};

/// The least distances of the last row's levels, over all paths to it.
template <int kAxisBits> struct Ends {
  static constexpr int n = Axis<kAxisBits>::kLevels;
  float at[2][n];
  IQD_HOST_DEVICE Ends() {
#pragma unroll
    for (int i = 0; i < n; ++i) at[0][i] = at[1][i] = INFINITY;
  }
  /// For a path with distance d before the last row; `nearest_miss`: offset from the nearest point there. There are
  /// levels up to `top`.
  IQD_HOST_DEVICE void lower(float d, float2 nearest_miss, float2 e, float r, float top = Axis<kAxisBits>::kTop) {
    const float with_im = fmaf(nearest_miss.y, nearest_miss.y, d), with_re = fmaf(nearest_miss.x, nearest_miss.x, d);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float level = static_cast<float>(2 * i) - Axis<kAxisBits>::kTop;
      if (fabsf(level) > top) continue;
      const float x = fmaf(-r, level, e.x), y = fmaf(-r, level, e.y);
      at[0][i] = fminf(at[0][i], fmaf(x, x, with_im));
      at[1][i] = fminf(at[1][i], fmaf(y, y, with_re));
    }
  }
};

}  // namespace iqd::mtt_detector
