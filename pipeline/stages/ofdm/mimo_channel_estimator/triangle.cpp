// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/triangle.hpp"

#include <algorithm>

#include "pipeline/stages/complex.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/ofdm/mimo_channel_estimator/triangle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::mimo_channel_estimator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Floats [begin, end) of a row, at least a vector, behind its first block.
void apply_floats(const Triangle& l, const float* from, std::int64_t begin, std::int64_t end, cf32 turn, float* to) {
  const hn::CappedTag<float, Triangle::kMostLanes> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step = 2 * std::int64_t{l.columns}, block = l.antennas * step;
  const V turn_re = hn::Set(d, turn.real()), turn_im = hn::OddEven(hn::Set(d, turn.imag()), hn::Set(d, -turn.imag()));
  const auto write = [&](std::int64_t i, std::int64_t at) HWY_ATTR {
    V sum = hn::Zero(d);
    for (int n = 0; n < l.antennas; ++n) {
      const V x = hn::LoadU(d, from + i - n * step);
      sum = hn::MulAdd(hn::LoadU(d, l.same[n] + at), x, sum);
      sum = hn::MulAdd(hn::LoadU(d, l.other[n] + at), hn::Reverse2(d, x), sum);
    }
    hn::StoreU(hn::MulAdd(turn_im, hn::Reverse2(d, sum), hn::Mul(turn_re, sum)), d, to + i);
  };
  std::int64_t i = begin, at = 0;
  for (; i + lanes <= end; i += lanes) {
    write(i, at);
    for (at += lanes; at >= block;) at -= block;
  }
  if (i < end) write(end - lanes, (end - lanes) % block);  // some once more
}
std::int64_t triangle_lanes() {
  return static_cast<std::int64_t>(hn::Lanes(hn::CappedTag<float, Triangle::kMostLanes>()));
}

}  // namespace iqd::mimo_channel_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::mimo_channel_estimator {

HWY_EXPORT(apply_floats);
HWY_EXPORT(triangle_lanes);

Triangle::Triangle(const Covariance& from, int antennas, int columns) noexcept : antennas(antennas), columns(columns) {
  const int floats = 2 * antennas * columns;
  for (int i = 0; i < floats + kMostLanes; ++i) {
    const int r = i % floats / (2 * columns);
    for (int n = 0; n <= r; ++n) {
      same[n][i] = static_cast<float>(from.re[r][r - n]);
      other[n][i] = static_cast<float>(i % 2 ? from.im[r][r - n] : -from.im[r][r - n]);
    }
  }
}

void Triangle::apply(const cf32* from, std::int64_t count, cf32* to, cf32 turn) const noexcept {
  // Before the first block there is nothing to read. A short row has no vector.
  const std::int64_t first = antennas * columns;
  const std::int64_t alone = 2 * (count - first) < HWY_DYNAMIC_DISPATCH(triangle_lanes)() ? count : first;
  for (std::int64_t i = 0; i < alone; ++i) {
    const std::int64_t at = i % first;
    cf32 sum = 0;
    for (std::int64_t n = 0; n <= at / columns; ++n)
      sum += dsp::product(from[i - n * columns], {same[n][2 * at], other[n][2 * at + 1]});
    to[i] = dsp::product(sum, turn);
  }
  if (alone < count) HWY_DYNAMIC_DISPATCH(apply_floats)
  (*this, reinterpret_cast<const float*>(from), 2 * alone, 2 * count, turn, reinterpret_cast<float*>(to));
}

}  // namespace iqd::mimo_channel_estimator
#endif
