// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/preamble_search/correlate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/preamble_search/correlate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::preamble_search::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
/// Vectors of c computed at once: enough sums in flight to hide the latency of a multiply-add, few enough for the
/// registers.
constexpr int kAtOnce = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr float kLargest = std::numeric_limits<float>::max();

std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(D()));
}

/// |c|^2 of kAtOnce vectors of positions.
HWY_INLINE void make_powers(const cf32* q, std::int64_t period, const float* re, const float* im, float* power) {
  const D d;
  const std::int64_t step = lanes();
  V c_re[kAtOnce], c_im[kAtOnce];
  for (int j = 0; j < kAtOnce; ++j) c_re[j] = c_im[j] = hn::Zero(d);
  for (std::int64_t l = 0; l < period; ++l) {
    const V q_re = hn::Set(d, q[l].real());
    const V q_im = hn::Set(d, q[l].imag());
    for (int j = 0; j < kAtOnce; ++j) {
      const V x_re = hn::LoadU(d, re + l + j * step);
      const V x_im = hn::LoadU(d, im + l + j * step);
      c_re[j] = hn::MulAdd(x_im, q_im, hn::MulAdd(x_re, q_re, c_re[j]));
      c_im[j] = hn::NegMulAdd(x_re, q_im, hn::MulAdd(x_im, q_re, c_im[j]));
    }
  }
  for (int j = 0; j < kAtOnce; ++j)
    hn::StoreU(hn::MulAdd(c_im[j], c_im[j], hn::Mul(c_re[j], c_re[j])), d, power + j * step);
}

/// The energy of one period from each position on: sums of eight by halves, then the eights one after the other.
void make_energies(std::int64_t period, const float* re, const float* im, float* energy, std::int64_t n) {
  const D d;
  const std::int64_t step = lanes();
  for (std::int64_t i = 0; i < n + period; i += step) {
    const V x_re = hn::LoadU(d, re + i);
    const V x_im = hn::LoadU(d, im + i);
    hn::StoreU(hn::MulAdd(x_im, x_im, hn::Mul(x_re, x_re)), d, energy + i);
  }
  const auto at = [&](std::int64_t i) HWY_ATTR { return hn::LoadU(d, energy + i); };
  const auto four = [&](std::int64_t i)
                        HWY_ATTR { return hn::Add(hn::Add(at(i), at(i + 1)), hn::Add(at(i + 2), at(i + 3))); };
  for (std::int64_t i = 0; i < n + period - 8; i += step) hn::StoreU(hn::Add(four(i), four(i + 4)), d, energy + i);
  for (std::int64_t i = 0; i < n; i += step) {
    V sum = at(i);
    for (std::int64_t l = 8; l < period; l += 8) sum = hn::Add(sum, at(i + l));
    hn::StoreU(sum, d, energy + i);
  }
}

void correlate_tile(const cf32* q, std::int64_t period, std::int64_t repeats, const Tile& tile, std::int64_t outputs) {
  const D d;
  const std::int64_t step = lanes();
  const std::int64_t count = outputs + (repeats - 1) * period;
  for (std::int64_t i = 0; i < count; i += kAtOnce * step)
    make_powers(q, period, tile.re + i, tile.im + i, tile.power + i);
  make_energies(period, tile.re, tile.im, tile.energy, count);
  const V largest = hn::Set(d, kLargest);
  for (std::int64_t i = 0; i < outputs; i += step) {
    V level = hn::LoadU(d, tile.power + i);
    V energy = hn::LoadU(d, tile.energy + i);
    for (std::int64_t m = 1; m < repeats; ++m) {
      level = hn::Add(level, hn::LoadU(d, tile.power + i + m * period));
      energy = hn::Add(energy, hn::LoadU(d, tile.energy + i + m * period));
    }
    level = hn::IfThenElseZero(hn::Le(level, largest), level);
    const auto some = hn::And(hn::Gt(energy, hn::Zero(d)), hn::Le(energy, largest));
    hn::StoreU(level, d, tile.level + i);
    hn::StoreU(hn::IfThenElseZero(some, hn::Div(level, energy)), d, tile.metric + i);
  }
}

std::int64_t largest_of(const float* level, std::int64_t n) {
  const D d;
  const std::int64_t step = lanes();
  float largest = level[0];
  std::int64_t i = 0;
  if (n >= step) {
    V all = hn::LoadU(d, level);
    for (; i + step <= n; i += step) all = hn::Max(all, hn::LoadU(d, level + i));
    largest = hn::GetLane(hn::MaxOfLanes(d, all));
  }
  for (; i < n; ++i) largest = std::max(largest, level[i]);
  i = 0;
  const V wanted = hn::Set(d, largest);
  while (i + step <= n && hn::AllFalse(d, hn::Eq(wanted, hn::LoadU(d, level + i)))) i += step;
  while (level[i] != largest) ++i;
  return i;
}

std::int64_t reaching(const float* metric, std::int64_t from, std::int64_t n, float threshold) {
  const D d;
  const std::int64_t step = lanes();
  const V least = hn::Set(d, threshold);
  std::int64_t i = from;
  while (i + step <= n && hn::AllFalse(d, hn::Ge(hn::LoadU(d, metric + i), least))) i += step;
  while (i < n && !(metric[i] >= threshold)) ++i;
  return i;
}

float share_of(const float* re, const float* im, const cf32* s, std::int64_t n, std::int64_t period) {
  float sum = 0;
  float energy = 0;
  for (std::int64_t first = 0; first < n; first += period) {
    const std::int64_t end = std::min(first + period, n);
    float c_re = 0;
    float c_im = 0;
    for (std::int64_t l = first; l < end; ++l) {
      c_re = std::fma(im[l], s[l].imag(), std::fma(re[l], s[l].real(), c_re));
      c_im = std::fma(-re[l], s[l].imag(), std::fma(im[l], s[l].real(), c_im));
      energy = std::fma(im[l], im[l], std::fma(re[l], re[l], energy));
    }
    sum += std::fma(c_im, c_im, c_re * c_re) / static_cast<float>(end - first);
  }
  return energy > 0 && energy <= kLargest && sum <= kLargest ? sum / energy : 0;
}

}  // namespace iqd::preamble_search::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::preamble_search {

HWY_EXPORT(correlate_tile);
HWY_EXPORT(largest_of);
HWY_EXPORT(reaching);
HWY_EXPORT(share_of);

void correlate(const cf32* q, std::int64_t period, std::int64_t repeats, const Tile& tile,
               std::int64_t outputs) noexcept {
  HWY_DYNAMIC_DISPATCH(correlate_tile)(q, period, repeats, tile, outputs);
}
std::int64_t find_largest(const float* level, std::int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(largest_of)(level, n);
}
std::int64_t find_reaching(const float* metric, std::int64_t from, std::int64_t n, float threshold) noexcept {
  return HWY_DYNAMIC_DISPATCH(reaching)(metric, from, n, threshold);
}
float share_of_word(const float* re, const float* im, const cf32* s, std::int64_t n, std::int64_t period) noexcept {
  return HWY_DYNAMIC_DISPATCH(share_of)(re, im, s, n, period);
}

}  // namespace iqd::preamble_search
#endif
