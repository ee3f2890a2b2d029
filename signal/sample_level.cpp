// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/sample_level.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/sample_level.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {

/// What is beyond counts as infinite: its square would be.
constexpr float kLargest = 1e18F;

/// By the definition; what is left over at the end goes this way.
void add_each(const std::int16_t* x, std::int64_t samples, int clip, SampleLevel& level) {
  for (std::int64_t i = 0; i < samples; ++i) {
    const int re = std::abs(int{x[2 * i]}), im = std::abs(int{x[2 * i + 1]});
    level.square_sum += static_cast<double>(re) * re + static_cast<double>(im) * im;
    level.peak = std::max(level.peak, static_cast<double>(std::max(re, im)));
    level.clipped += re >= clip || im >= clip;
  }
}

void add_each(const float* x, std::int64_t samples, float clip, SampleLevel& level) {
  for (std::int64_t i = 0; i < samples; ++i) {
    bool clipped = false;
    for (const float part : {std::fabs(x[2 * i]), std::fabs(x[2 * i + 1])}) {
      const bool finite = part <= kLargest;
      const double value = finite ? part : 0;
      level.square_sum += value * value;
      level.peak = std::max(level.peak, value);
      clipped = clipped || !finite || part >= clip;
    }
    level.clipped += clipped;
  }
}

#if HWY_TARGET == HWY_SCALAR

void add_sc16(const std::int16_t* x, std::int64_t samples, int clip, SampleLevel& level) {
  add_each(x, samples, clip, level);
}
void add_cf32(const float* x, std::int64_t samples, float clip, SampleLevel& level) {
  add_each(x, samples, clip, level);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

void add_sc16(const std::int16_t* x, std::int64_t samples, int clip, SampleLevel& level) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::Repartition<std::int32_t, decltype(d)> d32;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const auto upper = hn::Set(d, static_cast<std::int16_t>(clip - 1)),
             lower = hn::Set(d, static_cast<std::int16_t>(1 - clip));
  const auto low_half = hn::Set(d64, 0xffffffffu);
  auto most = hn::Zero(d), least = most;
  auto sum = hn::Zero(d64), sum_of_rest = sum;
  auto clipped = hn::Zero(d32);
  const auto parts = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; 2 * i + parts <= 2 * samples; i += parts / 2) {
    const auto v = hn::LoadU(d, x + 2 * i);
    most = hn::Max(most, v);
    least = hn::Min(least, v);
    // Two squares are 2^31 at most, so they are whole where the sign would be.
    auto rest = hn::Zero(d32);
    const auto squares = hn::BitCast(d64, hn::ReorderWidenMulAccumulate(d32, v, v, hn::Zero(d32), rest));
    const auto others = hn::BitCast(d64, rest);
    sum = hn::Add(sum, hn::Add(hn::And(squares, low_half), hn::ShiftRight<32>(squares)));
    sum_of_rest = hn::Add(sum_of_rest, hn::Add(hn::And(others, low_half), hn::ShiftRight<32>(others)));
    const auto ends = hn::BitCast(d32, hn::VecFromMask(d, hn::Or(hn::Gt(v, upper), hn::Lt(v, lower))));
    clipped = hn::Sub(clipped, hn::VecFromMask(d32, hn::Ne(ends, hn::Zero(d32))));
  }
  level.square_sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d64, hn::Add(sum, sum_of_rest))));
  const int highest = hn::GetLane(hn::MaxOfLanes(d, most)), lowest = hn::GetLane(hn::MinOfLanes(d, least));
  level.peak = std::max(level.peak, static_cast<double>(std::max(highest, -lowest)));
  level.clipped += hn::GetLane(hn::SumOfLanes(d32, clipped));
  add_each(x + 2 * i, samples - i, clip, level);
}

/// Squares are summed up in floats over so many vectors, then in doubles.
constexpr std::int64_t kRun = 64;

void add_cf32(const float* x, std::int64_t samples, float clip, SampleLevel& level) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<std::int64_t, decltype(d)> d64;
  const auto scale = hn::Set(d, clip), largest = hn::Set(d, kLargest);
  auto most = hn::Zero(d);
  auto clipped = hn::Zero(d64);
  const auto parts = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  while (2 * i + parts <= 2 * samples) {
    const std::int64_t end = std::min(samples - parts / 2 + 1, i + kRun * parts / 2);
    auto sum = hn::Zero(d);
    for (; i < end; i += parts / 2) {
      const auto a = hn::Abs(hn::LoadU(d, x + 2 * i));
      const auto finite = hn::Le(a, largest);
      const auto v = hn::IfThenElseZero(finite, a);
      most = hn::Max(most, v);
      sum = hn::MulAdd(v, v, sum);
      const auto ends = hn::BitCast(d64, hn::VecFromMask(d, hn::Or(hn::Not(finite), hn::Ge(a, scale))));
      clipped = hn::Sub(clipped, hn::VecFromMask(d64, hn::Ne(ends, hn::Zero(d64))));
    }
    level.square_sum += hn::GetLane(hn::SumOfLanes(d, sum));
  }
  level.peak = std::max(level.peak, static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, most))));
  level.clipped += hn::GetLane(hn::SumOfLanes(d64, clipped));
  add_each(x + 2 * i, samples - i, clip, level);
}

#endif

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(add_sc16);
HWY_EXPORT(add_cf32);

void add_level(std::span<const sc16> x, int full_scale, SampleLevel& level) noexcept {
  HWY_DYNAMIC_DISPATCH(add_sc16)(reinterpret_cast<const std::int16_t*>(x.data()), std::ssize(x), full_scale - 1, level);
  level.samples += std::ssize(x);
}

void add_level(std::span<const cf32> x, float full_scale, SampleLevel& level) noexcept {
  HWY_DYNAMIC_DISPATCH(add_cf32)(reinterpret_cast<const float*>(x.data()), std::ssize(x), full_scale, level);
  level.samples += std::ssize(x);
}

}  // namespace iqd
#endif
