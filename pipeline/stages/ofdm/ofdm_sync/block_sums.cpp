// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_sync/block_sums.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/ofdm/ofdm_sync/block_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::ofdm_sync::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kParts = 8;  // partial sums of a step
constexpr float kLargest = std::numeric_limits<float>::max();

float sum_of(float* parts, int n) {
  for (n /= 2; n > 0; n /= 2)
    for (int j = 0; j < n; ++j) parts[j] += parts[j + n];
  return parts[0];
}

using Parts = float[kSums][kParts];

/// For a step of fewer samples than there are parts.
void add_few(const float* re, const float* im, std::int64_t step, std::int64_t lag, Parts& parts) {
  for (std::int64_t j = 0; j < step; ++j) {
    parts[0][j] = re[j] * re[j + lag] + im[j] * im[j + lag];
    parts[1][j] = re[j] * im[j + lag] - im[j] * re[j + lag];
    parts[2][j] = re[j] * re[j] + im[j] * im[j];
    parts[3][j] = re[j];
    parts[4][j] = im[j];
  }
}

/// A vector has eight lanes or a divisor of eight.
void add_eights(const float* re, const float* im, std::int64_t step, std::int64_t lag, Parts& parts) {
  const hn::CappedTag<float, kParts> d;
  for (std::int64_t j = 0; j < kParts; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    auto product_re = hn::Zero(d), product_im = hn::Zero(d), energy = hn::Zero(d);
    auto mean_re = hn::Zero(d), mean_im = hn::Zero(d);
    for (std::int64_t i = j; i < step; i += kParts) {
      const auto x = hn::LoadU(d, re + i), y = hn::LoadU(d, im + i);
      const auto later_x = hn::LoadU(d, re + i + lag), later_y = hn::LoadU(d, im + i + lag);
      product_re = hn::Add(product_re, hn::Add(hn::Mul(x, later_x), hn::Mul(y, later_y)));
      product_im = hn::Add(product_im, hn::Sub(hn::Mul(x, later_y), hn::Mul(y, later_x)));
      energy = hn::Add(energy, hn::Add(hn::Mul(x, x), hn::Mul(y, y)));
      mean_re = hn::Add(mean_re, x);
      mean_im = hn::Add(mean_im, y);
    }
    hn::StoreU(product_re, d, parts[0] + j);
    hn::StoreU(product_im, d, parts[1] + j);
    hn::StoreU(energy, d, parts[2] + j);
    hn::StoreU(mean_re, d, parts[3] + j);
    hn::StoreU(mean_im, d, parts[4] + j);
  }
}

void sum_all(const float* re, const float* im, const Grid& grid, std::int64_t count, float* const (&sums)[kSums]) {
  Parts parts;
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t n = b * grid.step;
    if (grid.step < kParts)
      add_few(re + n, im + n, grid.step, grid.lag, parts);
    else
      add_eights(re + n, im + n, grid.step, grid.lag, parts);
    for (int s = 0; s < kSums; ++s)
      sums[s][b] = sum_of(parts[s], static_cast<int>(std::min<std::int64_t>(grid.step, kParts)));
  }
}

struct VectorAlike {
  V re, im, square, energy;
};

/// Like `halves_at` and `alike`; what `Combined` ignores is 0.
HWY_INLINE VectorAlike halves_from(const Grid& grid, const Sums& sums, std::int64_t j) {
  const D d;
  V re = hn::Zero(d), im = re, energy = re, a_re = re, a_im = re, b_re = re, b_im = re;
  for (std::int64_t k = j; k < j + grid.blocks; ++k) {
    re = hn::Add(re, hn::LoadU(d, sums.re + k));
    im = hn::Add(im, hn::LoadU(d, sums.im + k));
    energy = hn::Add(energy, hn::Add(hn::LoadU(d, sums.energy + k), hn::LoadU(d, sums.energy + k + kSteps)));
    a_re = hn::Add(a_re, hn::LoadU(d, sums.mean_re + k));
    a_im = hn::Add(a_im, hn::LoadU(d, sums.mean_im + k));
    b_re = hn::Add(b_re, hn::LoadU(d, sums.mean_re + k + kSteps));
    b_im = hn::Add(b_im, hn::LoadU(d, sums.mean_im + k + kSteps));
  }
  const auto sum = [](V x, V y, V u, V v) HWY_ATTR { return hn::Add(hn::Mul(x, u), hn::Mul(y, v)); };
  const V each = hn::Set(d, grid.per_sample);
  const V m_re = hn::Mul(a_re, each), m_im = hn::Mul(a_im, each);
  const V constant = hn::Add(sum(m_re, m_im, a_re, a_im), sum(hn::Mul(b_re, each), hn::Mul(b_im, each), b_re, b_im));
  const V left = hn::Sub(energy, constant);
  const V mean = hn::Mul(hn::Set(d, 0.5f), left);
  re = hn::Div(hn::Sub(re, sum(m_re, m_im, b_re, b_im)), mean);
  im = hn::Div(hn::Sub(im, hn::Sub(hn::Mul(m_re, b_im), hn::Mul(m_im, b_re))), mean);
  const V square = sum(re, im, re, im);
  const auto some =
      hn::And(hn::And(hn::Gt(left, hn::Mul(hn::Set(d, kLeastShare), energy)), hn::Le(left, hn::Set(d, kLargest))),
              hn::Le(square, hn::Set(d, 4.0f)));
  return {hn::IfThenElseZero(some, re), hn::IfThenElseZero(some, im), hn::IfThenElseZero(some, square),
          hn::IfThenElseZero(some, mean)};
}

/// Like `halves_beside_tones` and `without_tone`.
HWY_INLINE VectorAlike halves_from(const Grid& grid, const Alikes& all, std::int64_t j) {
  const D d;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0f), largest = hn::Set(d, kLargest);
  V re = zero, im = zero, inverse = zero, count = zero;
  for (std::int64_t i = -grid.others; i <= grid.others; ++i) {
    if (i == 0) continue;
    const std::int64_t k = j + i * grid.apart;
    const V other = hn::LoadU(d, all.inverse + k);
    re = hn::Add(re, hn::LoadU(d, all.re + k));
    im = hn::Add(im, hn::LoadU(d, all.im + k));
    inverse = hn::Add(inverse, other);
    count = hn::Add(count, hn::IfThenElseZero(hn::Gt(other, zero), one));
  }
  const V own = hn::LoadU(d, all.inverse + j);
  const V scale = hn::IfThenElseZero(hn::Gt(inverse, zero), hn::Div(own, inverse));
  re = hn::Mul(re, scale), im = hn::Mul(im, scale);
  const V usual = hn::Mul(count, scale);
  const V tone = hn::Add(hn::Mul(re, re), hn::Mul(im, im));
  const auto some = hn::And(hn::Gt(own, zero), hn::And(hn::Le(tone, largest), hn::Le(usual, largest)));
  const V size = hn::Sqrt(tone);
  const V left = hn::Max(hn::Max(hn::Sub(one, size), hn::Min(one, hn::Sub(usual, size))),
                         hn::Mul(hn::Set(d, kLeastBeside), hn::Max(one, usual)));
  re = hn::Div(hn::Sub(hn::LoadU(d, all.re + j), re), left);
  im = hn::Div(hn::Sub(hn::LoadU(d, all.im + j), im), left);
  const V most = hn::Max(one, hn::Sqrt(hn::Add(hn::Mul(re, re), hn::Mul(im, im))));
  re = hn::IfThenElseZero(some, hn::Div(re, most)), im = hn::IfThenElseZero(some, hn::Div(im, most));
  return {re, im, hn::Add(hn::Mul(re, re), hn::Mul(im, im)), zero};
}

void compare_all(const Grid& grid, const Sums& sums, std::int64_t count, float* const (&to)[kAlikes]) {
  const D d;
  for (std::int64_t j = 0; j < count; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    const VectorAlike own = halves_from(grid, sums, j);
    const V inverse = hn::Div(hn::Set(d, 1.0f), own.energy);
    const auto some = hn::Le(inverse, hn::Set(d, kLargest));
    hn::StoreU(hn::IfThenElseZero(some, own.re), d, to[0] + j);
    hn::StoreU(hn::IfThenElseZero(some, own.im), d, to[1] + j);
    hn::StoreU(hn::IfThenElseZero(some, inverse), d, to[2] + j);
  }
}

/// `From`: Sums or Alikes.
template <class From>
HWY_INLINE void likeness_from(const Grid& grid, const From* from, std::int64_t places, float* likeness) {
  const D d;
  for (std::int64_t j = 0; j < places; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    V re = hn::Zero(d), im = hn::Zero(d), weight = hn::Zero(d);
    for (std::int64_t r = 0; r < grid.antennas; ++r) {
      const VectorAlike own = halves_from(grid, from[r], j);
      re = hn::Add(re, hn::Mul(own.square, own.re));
      im = hn::Add(im, hn::Mul(own.square, own.im));
      weight = hn::Add(weight, own.square);
    }
    const V size = hn::Sqrt(hn::Add(hn::Mul(re, re), hn::Mul(im, im)));
    hn::StoreU(hn::IfThenElseZero(hn::Gt(weight, hn::Zero(d)), hn::Div(size, weight)), d, likeness + j);
  }
}

void likeness_of_all(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) {
  likeness_from(grid, sums, places, likeness);
}
void likeness_beside_tones(const Grid& grid, const Alikes* all, std::int64_t places, float* likeness) {
  likeness_from(grid, all, places, likeness);
}

/// Like Stretches::add; a vector is a divisor of kPrefixParts, or one sample.
template <class D> HWY_INLINE void add_stretch(D d, const float* re, const float* im, std::int64_t lag, std::int64_t j,
                                               StretchParts& parts) {
  const auto x = hn::LoadU(d, re), y = hn::LoadU(d, im), later_x = hn::LoadU(d, re + lag);
  const auto later_y = hn::LoadU(d, im + lag);
  const auto add = [&](int which, auto value)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, parts[which] + j), value), d, parts[which] + j); };
  add(0, hn::Add(hn::Mul(x, later_x), hn::Mul(y, later_y)));
  add(1, hn::Sub(hn::Mul(x, later_y), hn::Mul(y, later_x)));
  add(2, hn::Add(hn::Add(hn::Mul(x, x), hn::Mul(y, y)), hn::Add(hn::Mul(later_x, later_x), hn::Mul(later_y, later_y))));
  add(3, x), add(4, y), add(5, later_x), add(6, later_y);
}
void add_all(const float* re, const float* im, std::int64_t lag, std::int64_t count, StretchParts& parts) {
  const hn::CappedTag<float, kPrefixParts> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) add_stretch(d, re + i, im + i, lag, i % kPrefixParts, parts);
  for (; i < count; ++i) add_stretch(hn::CappedTag<float, 1>(), re + i, im + i, lag, i % kPrefixParts, parts);
}

}  // namespace iqd::ofdm_sync::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::ofdm_sync {

HWY_EXPORT(sum_all);
HWY_EXPORT(likeness_of_all);
HWY_EXPORT(compare_all);
HWY_EXPORT(add_all);
HWY_EXPORT(likeness_beside_tones);

void sum_blocks(const float* re, const float* im, const Grid& grid, std::int64_t count,
                float* const (&sums)[kSums]) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_all)(re, im, grid, count, sums);
}
void find_likeness(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) noexcept {
  HWY_DYNAMIC_DISPATCH(likeness_of_all)(grid, sums, places, likeness);
}
void compare_halves(const Grid& grid, const Sums& sums, std::int64_t count, float* const (&to)[kAlikes]) noexcept {
  HWY_DYNAMIC_DISPATCH(compare_all)(grid, sums, count, to);
}
void find_likeness_beside_tones(const Grid& grid, const Alikes* all, std::int64_t places, float* likeness) noexcept {
  HWY_DYNAMIC_DISPATCH(likeness_beside_tones)(grid, all, places, likeness);
}
void add_stretches(const float* re, const float* im, std::int64_t lag, std::int64_t count,
                   StretchParts& parts) noexcept {
  HWY_DYNAMIC_DISPATCH(add_all)(re, im, lag, count, parts);
}

}  // namespace iqd::ofdm_sync
#endif
