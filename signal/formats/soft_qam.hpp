// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "base/views.hpp"
#include "signal/formats/qam.hpp"

/// What LLRs say of a symbol: its mean and its variance. LLRs are positive for bit 0.
namespace iqd::qam {

/// More would not change a float.
inline constexpr float kMostLlr = 40;
/// An LLR within the limit; NaN counts as 0.
IQD_HOST_DEVICE inline float usable_llr(float x) noexcept {
  return x > kMostLlr ? kMostLlr : x < -kMostLlr ? -kMostLlr : x == x ? x : 0.0f;
}

struct SoftLevel {
  float mean = 0;
  float square = 0;  // the mean of the square
};
/// An axis, as an odd number, from the LLRs of its `bits` bits, which stand `step` apart. A level is
/// s0 (4 - s1 (2 - s2)) with three bits, each s being 1 or -1, and bits do not depend on each other.
IQD_HOST_DEVICE inline SoftLevel soft_level(int bits, const float* llr, int step) noexcept {
  SoftLevel level;
  for (int b = bits - 1; b >= 0; --b) {
    const auto base = static_cast<float>(1 << (bits - 1 - b));
    level.square = base * base - 2 * base * level.mean + level.square;
    level.mean = tanhf(0.5f * usable_llr(llr[b * step])) * (base - level.mean);
  }
  return level;
}

struct SoftSymbol {
  float re = 0;
  float im = 0;
  float variance = 1;
};
/// Of power 1, from its `bits` LLRs.
IQD_HOST_DEVICE inline SoftSymbol soft_symbol(int bits, const float* llr) noexcept {
  const int half = bits / 2;
  const SoftLevel x = soft_level(half, llr, 2), y = soft_level(half, llr + 1, 2);
  const float per_power = 1 / static_cast<float>(power(half)), per_root = sqrtf(per_power);
  const float left = x.square + y.square - x.mean * x.mean - y.mean * y.mean;
  return {x.mean * per_root, y.mean * per_root, fmaxf(left * per_power, 0.0f)};
}

}  // namespace iqd::qam
