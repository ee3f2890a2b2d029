// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// For each point q, finds the survivor k with the least d_k + |e_k - r q|^2: Q^2 pairs, one instruction each.
//
// The square minus r^2 |q|^2, which is the same for all k, is A_k(i) + B_k(j), both linear in the level, with
//
//   A_k(i) = d_k + re(e_k)^2 - 2 r re(e_k) i,   B_k(j) = im(e_k)^2 - 2 r im(e_k) j.
//
// Adding 2^23 makes the floats integers, which get k in their last bits: min(A + B, so far) is then sum, comparison and
// choice at once (__viaddmin_u32). A number too large for 23 bits comes out too small, since these are a float's bits,
// but still in order and never below 2^23. The scale is such that no sum that is the least for any q exceeds 23 bits:
// `bound` is a distance that some k has at most, at every q.
#pragma once

#include <cmath>
#include <cstdint>

#include "pipeline/stages/mimo/triangle.cuh"

namespace iqd::mtt_detector {

/// min(a + b, c)
IQD_HOST_DEVICE inline std::uint32_t least_sum(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
  return __viaddmin_u32(a, b, c);
#else
  return a + b < c ? a + b : c;
#endif
}

/// For few points: costs as they are, with k as the last bits of the float.
template <int kLevels, bool kFew = kLevels == 2> class Reduction {
 public:
  static constexpr bool kUsed = kLevels > 1;
  static constexpr bool kBounded = false;

  IQD_HOST_DEVICE void start(float, float r, std::uint32_t) {
    r_ = r;
#pragma unroll
    for (int q = 0; q < kLevels * kLevels; ++q) least_[q] = 0x7fffffff;
  }
  /// Survivor k, with residual e in the row below it. One that is not there has an infinite distance.
  IQD_HOST_DEVICE void offer(int k, float d, float2 e, bool = false) {
#pragma unroll
    for (int q = 0; q < kLevels * kLevels; ++q) {
      const float x = fmaf(-r_, level(q / kLevels), e.x), y = fmaf(-r_, level(q % kLevels), e.y);
      const std::int32_t key = (mimo::bits_of_float(fmaf(y, y, fmaf(x, x, d))) & ~(kLevels * kLevels - 1)) | k;
      least_[q] = key < least_[q] ? key : least_[q];
    }
  }
  IQD_HOST_DEVICE std::uint32_t four_parents(int n) const {
    std::uint32_t four = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) four |= static_cast<std::uint32_t>(least_[4 * n + i] & 3) << 8 * i;
    return four;
  }

 private:
  static constexpr float level(int i) {
    return static_cast<float>(2 * i - (kLevels - 1));
  }
  float r_;
  std::int32_t least_[kLevels * kLevels];
};

template <int kLevels> class Reduction<kLevels, false> {
 public:
  static constexpr bool kUsed = kLevels > 1;
  static constexpr bool kBounded = true;

  /// `points`: kLevels^2, passed at run time: from a constant the compiler would turn the products into shifts, which
  /// compete with the minima.
  IQD_HOST_DEVICE void start(float bound, float r, std::uint32_t points) {
    constexpr float kLeastBound = 0x1p-60f;  // for exact hits
    constexpr float kMargin = 16;            // rounding may not bring 0 below 2^23
    constexpr float kWhole = 8388608.0f - 4 * kMargin;
    const float top = kTop * r, square = top * top;
    bound_ = fmaxf(bound, kLeastBound);
    reach_ = top + sqrtf(bound_);  // beyond it no distance is below the bound
    scale_ = kWhole / (bound_ + 2 * square);
    twice_r_ = 2 * r;
    points_ = points;
    whole_ = 0u - 0x4b000000u * points;
    offset_ = fmaf(square, scale_, 8388608.0f + kMargin);
#pragma unroll
    for (int i = 0; i < kLevels; ++i)
#pragma unroll
      for (int j = 0; j < kLevels; ++j) least_[i][j] = 0xffffffff;
  }

  /// A distance beyond those of all survivors that are the best for any q: its sums exceed 23 bits.
  IQD_HOST_DEVICE float never() const {
    return 2 * bound_ + 2 * reach_ * twice_r_ * kTop;
  }

  /// Survivor k, with residual e in the row below it. `absent`: it is not there.
  IQD_HOST_DEVICE void offer(int k, float d, float2 e, bool absent = false) {
    const float re = fminf(fmaxf(e.x, -reach_), reach_), im = fminf(fmaxf(e.y, -reach_), reach_);
    const float scaled_re = re * scale_, scaled_im = im * scale_;
    const float a = fmaf(scaled_re, re, fmaf(absent ? never() : fminf(d, bound_), scale_, offset_));
    const float b = fmaf(scaled_im, im, offset_);
    const float slope_a = scaled_re * twice_r_, slope_b = scaled_im * twice_r_;
    std::uint32_t keys[kLevels];
#pragma unroll
    for (int j = 0; j < kLevels; ++j) keys[j] = whole(fmaf(-level(j), slope_b, b), whole_);
#pragma unroll
    for (int i = 0; i < kLevels; ++i) {
      const std::uint32_t key = whole(fmaf(-level(i), slope_a, a), whole_ + static_cast<std::uint32_t>(k));
#pragma unroll
      for (int j = 0; j < kLevels; ++j) least_[i][j] = least_sum(key, keys[j], least_[i][j]);
    }
  }

  /// The survivors of points 4 n … 4 n + 3, one byte each.
  IQD_HOST_DEVICE std::uint32_t four_parents(int n) const {
    std::uint32_t four = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) four |= (least_[(4 * n + i) / kLevels][(4 * n + i) % kLevels] & (kPoints - 1)) << 8 * i;
    return four;
  }

 private:
  static constexpr int kPoints = kLevels * kLevels;
  static constexpr float kTop = kLevels - 1;
  static constexpr float level(int i) {
    return static_cast<float>(2 * i) - kTop;
  }
  /// The float x >= 2^23 as an integer, minus 2^23, times the number of points, plus k.
  IQD_HOST_DEVICE std::uint32_t whole(float x, std::uint32_t k) const {
    return static_cast<std::uint32_t>(mimo::bits_of_float(x)) * points_ + k;
  }

  float bound_, reach_, scale_, twice_r_, offset_;
  std::uint32_t points_, whole_;
  std::uint32_t least_[kLevels][kLevels];
};

}  // namespace iqd::mtt_detector
