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
  V re, im, square;
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
  return {hn::IfThenElseZero(some, re), hn::IfThenElseZero(some, im), hn::IfThenElseZero(some, square)};
}

void likeness_of_all(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) {
  const D d;
  for (std::int64_t j = 0; j < places; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    V re = hn::Zero(d), im = hn::Zero(d), weight = hn::Zero(d);
    for (std::int64_t r = 0; r < grid.antennas; ++r) {
      const VectorAlike own = halves_from(grid, sums[r], j);
      re = hn::Add(re, hn::Mul(own.square, own.re));
      im = hn::Add(im, hn::Mul(own.square, own.im));
      weight = hn::Add(weight, own.square);
    }
    const V size = hn::Sqrt(hn::Add(hn::Mul(re, re), hn::Mul(im, im)));
    hn::StoreU(hn::IfThenElseZero(hn::Gt(weight, hn::Zero(d)), hn::Div(size, weight)), d, likeness + j);
  }
}

}  // namespace iqd::ofdm_sync::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::ofdm_sync {

HWY_EXPORT(sum_all);
HWY_EXPORT(likeness_of_all);

void sum_blocks(const float* re, const float* im, const Grid& grid, std::int64_t count,
                float* const (&sums)[kSums]) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_all)(re, im, grid, count, sums);
}
void find_likeness(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) noexcept {
  HWY_DYNAMIC_DISPATCH(likeness_of_all)(grid, sums, places, likeness);
}

}  // namespace iqd::ofdm_sync
#endif
