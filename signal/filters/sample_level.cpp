// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/sample_level.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/filters/sample_level.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {

/// Larger values are left out of the sums: their squares would be infinite.
constexpr float kLargest = 1e18F;
constexpr float kMostFinite = 3.402823466e38F;

#if HWY_TARGET == HWY_SCALAR

/// By definition.
void add_sc16(const std::int16_t* x, std::int64_t parts, int clip, SampleLevel& level) {
  for (std::int64_t i = 0; i < parts; i += 2) {
    const int re = std::abs(int{x[i]}), im = std::abs(int{x[i + 1]});
    level.square_sum += static_cast<double>(re) * re + static_cast<double>(im) * im;
    level.peak = std::max(level.peak, static_cast<double>(std::max(re, im)));
    level.clipped += re >= clip || im >= clip;
  }
}

void add_cf32(const float* x, std::int64_t parts, float clip, SampleLevel& level) {
  for (std::int64_t i = 0; i < parts; i += 2) {
    bool clipped = false;
    for (const float part : {std::fabs(x[i]), std::fabs(x[i + 1])}) {
      const double value = part <= kLargest ? part : 0;
      level.square_sum += value * value;
      level.peak = std::max(level.peak, value);
      clipped = clipped || (part <= kMostFinite && part >= clip);
    }
    level.clipped += clipped;
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Few samples are clipped, so a run is summed without looking for them, and scanned again only if its peak shows that
// there are some.

constexpr std::int64_t kStep = 4;  // vectors per loop iteration
constexpr std::int64_t kRun = 32;  // iterations

/// Number of samples in a run that have a part of `clip` or more.
std::int64_t count_clipped(const std::int16_t* x, std::int64_t parts, int clip) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::RebindToUnsigned<decltype(d)> absolute;
  const hn::Repartition<std::int32_t, decltype(d)> d32;
  const auto below = hn::Set(absolute, static_cast<std::uint16_t>(clip - 1));
  auto clipped = hn::Zero(d32);
  for (std::int64_t i = 0; i < parts; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto beyond = hn::SaturatedSub(hn::BitCast(absolute, hn::Abs(hn::LoadU(d, x + i))), below);
    clipped = hn::Sub(clipped, hn::VecFromMask(d32, hn::Ne(hn::BitCast(d32, beyond), hn::Zero(d32))));
  }
  return hn::GetLane(hn::SumOfLanes(d32, clipped));
}

/// Adds a run of whole steps.
void add_run(const std::int16_t* x, std::int64_t parts, int clip, SampleLevel& level) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::RebindToUnsigned<decltype(d)> absolute;
  const hn::Repartition<std::int32_t, decltype(d)> d32;
  const hn::RebindToUnsigned<decltype(d32)> sums;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Zero(absolute);
  auto sum = hn::Zero(sums), upper_sum = sum;
  const auto add_vector = [&](const std::int16_t* from) HWY_ATTR {
    const auto a = hn::Abs(hn::LoadU(d, from));
    most = hn::Max(most, hn::BitCast(absolute, a));
    // Two squares are at most 2^31, which fits if the sign bit counts as a value bit.
    auto rest = hn::Zero(d32);
    const auto products = hn::ReorderWidenMulAccumulate(d32, a, a, hn::Zero(d32), rest);
    const auto squares = hn::BitCast(sums, hn::Add(products, rest));
    sum = hn::Add(sum, squares);
    upper_sum = hn::Add(upper_sum, hn::ShiftRight<16>(squares));
  };
  for (std::int64_t i = 0; i < parts; i += kStep * lanes) {
    add_vector(x + i);
    add_vector(x + i + lanes);
    add_vector(x + i + 2 * lanes);
    add_vector(x + i + 3 * lanes);
  }
  // `sum` has wrapped at 32 bits; the sum of upper halves has not, nor has the remainder for the lower ones.
  const auto lower_sum = hn::Sub(sum, hn::ShiftLeft<16>(upper_sum));
  level.square_sum += 65536.0 * hn::GetLane(hn::SumOfLanes(sums, upper_sum)) +
                      static_cast<double>(hn::GetLane(hn::SumOfLanes(sums, lower_sum)));
  const int peak = hn::GetLane(hn::MaxOfLanes(absolute, most));
  level.peak = std::max(level.peak, static_cast<double>(peak));
  if (peak >= clip) level.clipped += count_clipped(x, parts, clip);
}

/// Adds a run that may contain NaN.
void add_with_care(const float* x, std::int64_t parts, float clip, SampleLevel& level) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<std::int64_t, decltype(d)> d64;
  const auto scale = hn::Set(d, clip), largest = hn::Set(d, kLargest), most_finite = hn::Set(d, kMostFinite);
  auto most = hn::Zero(d), sum = most;
  auto clipped = hn::Zero(d64);
  for (std::int64_t i = 0; i < parts; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto a = hn::Abs(hn::LoadU(d, x + i));
    const auto v = hn::IfThenElseZero(hn::Le(a, largest), a);
    most = hn::Max(most, v);
    sum = hn::MulAdd(v, v, sum);
    const auto ends = hn::BitCast(d64, hn::VecFromMask(d, hn::And(hn::Le(a, most_finite), hn::Ge(a, scale))));
    clipped = hn::Sub(clipped, hn::VecFromMask(d64, hn::Ne(ends, hn::Zero(d64))));
  }
  level.square_sum += hn::GetLane(hn::SumOfLanes(d, sum));
  level.peak = std::max(level.peak, static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, most))));
  level.clipped += hn::GetLane(hn::SumOfLanes(d64, clipped));
}

void add_run(const float* x, std::int64_t parts, float clip, SampleLevel& level) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Zero(d), sum = most, other_sum = most;
  const auto add_two = [&](const float* from) HWY_ATTR {
    const auto a = hn::Abs(hn::LoadU(d, from)), b = hn::Abs(hn::LoadU(d, from + lanes));
    most = hn::Max(most, hn::Max(a, b));
    sum = hn::MulAdd(a, a, sum);
    other_sum = hn::MulAdd(b, b, other_sum);
  };
  for (std::int64_t i = 0; i < parts; i += kStep * lanes) {
    add_two(x + i);
    add_two(x + i + 2 * lanes);
  }
  // NaN, infinite or very large values make the sum so; the peak of the other values is still right.
  const float squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other_sum)));
  const float peak = hn::GetLane(hn::MaxOfLanes(d, most));
  if (!(squares < kLargest * kLargest / 2) || peak >= clip) return add_with_care(x, parts, clip, level);
  level.square_sum += squares;
  level.peak = std::max(level.peak, static_cast<double>(peak));
}

/// The remainder at the end is padded with zeros, which add nothing.
template <class Part, class Clip> void add_all(const Part* x, std::int64_t parts, Clip clip, SampleLevel& level) {
  const hn::ScalableTag<Part> d;
  const auto step = kStep * static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = parts / step * step;
  for (std::int64_t i = 0; i < whole; i += kRun * step) add_run(x + i, std::min(kRun * step, whole - i), clip, level);
  if (whole == parts) return;
  Part last[static_cast<std::size_t>(kStep) * hn::MaxLanes(d)] = {};
  std::copy(x + whole, x + parts, last);
  add_run(last, step, clip, level);
}

void add_sc16(const std::int16_t* x, std::int64_t parts, int clip, SampleLevel& level) {
  add_all(x, parts, clip, level);
}
void add_cf32(const float* x, std::int64_t parts, float clip, SampleLevel& level) {
  add_all(x, parts, clip, level);
}

#endif

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(add_sc16);
HWY_EXPORT(add_cf32);

namespace {
constexpr int kNeverClipped = 65535;
}

void add_level(std::span<const sc16> x, int full_scale, SampleLevel& level) noexcept {
  HWY_DYNAMIC_DISPATCH(add_sc16)
  (reinterpret_cast<const std::int16_t*>(x.data()), 2 * std::ssize(x), std::clamp(full_scale - 1, 1, kNeverClipped),
   level);
  level.samples += std::ssize(x);
}

void add_level(std::span<const cf32> x, float full_scale, SampleLevel& level) noexcept {
  HWY_DYNAMIC_DISPATCH(add_cf32)(reinterpret_cast<const float*>(x.data()), 2 * std::ssize(x), full_scale, level);
  level.samples += std::ssize(x);
}

}  // namespace iqd
#endif
