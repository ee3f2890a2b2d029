// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/estimates/hermitian_system.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/estimates/hermitian_system.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::hermitian::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr std::int64_t kPanel = 16;  // columns that are finished before the others are updated
/// Columns that are updated at once: their sums take half of 16 registers, or of 32.
constexpr int kTile = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

/// A complex vector.
struct Z {
  HWY_INLINE Z() {}  // NOLINT(*-use-equals-default): GCC compiles a default one without the target's instructions
  HWY_INLINE Z(V real, V imag) : re(real), im(imag) {}
  V re, im;
};
HWY_INLINE Z load(const float* re, const float* im) {
  const D d;
  return {hn::LoadU(d, re), hn::LoadU(d, im)};
}
HWY_INLINE void store(Z z, float* re, float* im) {
  const D d;
  hn::StoreU(z.re, d, re);
  hn::StoreU(z.im, d, im);
}
/// z - a conj(b)
HWY_INLINE Z less(Z z, Z a, float b_re, float b_im) {
  const D d;
  const V re = hn::Set(d, b_re), im = hn::Set(d, b_im);
  return {hn::NegMulAdd(a.im, im, hn::NegMulAdd(a.re, re, z.re)), hn::MulAdd(a.re, im, hn::NegMulAdd(a.im, re, z.im))};
}

/// Columns [begin, end) become columns of L. Columns before `begin` have been taken away already.
void finish_panel(float* re, float* im, std::int64_t pitch, std::int64_t begin, std::int64_t end, std::int64_t rows,
                  float least) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = begin; j < end; ++j) {
    float* const own_re = re + j * pitch;
    float* const own_im = im + j * pitch;
    for (std::int64_t i = j; i < rows; i += lanes) {
      Z z = load(own_re + i, own_im + i);
      for (std::int64_t k = begin; k < j; ++k) {
        const float *const a_re = re + k * pitch, *const a_im = im + k * pitch;
        z = less(z, load(a_re + i, a_im + i), a_re[j], a_im[j]);
      }
      store(z, own_re + i, own_im + i);
    }
    const float scale = 1 / std::sqrt(std::max(own_re[j], least));
    for (std::int64_t i = j; i < rows; i += lanes) {
      const Z z = load(own_re + i, own_im + i);
      store({hn::Mul(z.re, hn::Set(d, scale)), hn::Mul(z.im, hn::Set(d, scale))}, own_re + i, own_im + i);
    }
    own_re[j] = 1 / scale;
    own_im[j] = 0;
  }
}

/// Takes the products of columns [begin, end) from `count` columns that begin at j. Elements above the diagonal, within
/// a vector of it, change too; nothing reads them.
template <int count> void update_columns(float* re, float* im, std::int64_t pitch, std::int64_t begin, std::int64_t end,
                                         std::int64_t j, std::int64_t rows) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t i = j; i < rows; i += lanes) {
    Z z[count];
    HWY_UNROLL(8)
    for (int c = 0; c < count; ++c) z[c] = load(re + (j + c) * pitch + i, im + (j + c) * pitch + i);
    for (std::int64_t k = begin; k < end; ++k) {
      const float *const a_re = re + k * pitch, *const a_im = im + k * pitch;
      const Z a = load(a_re + i, a_im + i);
      HWY_UNROLL(8)
      for (int c = 0; c < count; ++c) z[c] = less(z[c], a, a_re[j + c], a_im[j + c]);
    }
    HWY_UNROLL(8)
    for (int c = 0; c < count; ++c) store(z[c], re + (j + c) * pitch + i, im + (j + c) * pitch + i);
  }
}

void factor(float* re, float* im, std::int64_t pitch, std::int64_t order, std::int64_t rows, float least) {
  for (std::int64_t begin = 0; begin < order; begin += kPanel) {
    const std::int64_t end = std::min(begin + kPanel, order);
    finish_panel(re, im, pitch, begin, end, rows, least);
    std::int64_t j = end;
    for (; j + kTile <= order; j += kTile) update_columns<kTile>(re, im, pitch, begin, end, j, rows);
    for (; j < order; ++j) update_columns<1>(re, im, pitch, begin, end, j, rows);
  }
}

/// y of L y = q for one right side; y holds q at first, and becomes anything from `order` to the next vector.
void substitute_forward(const float* re, const float* im, std::int64_t pitch, std::int64_t order, float* y_re,
                        float* y_im) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < order; ++j) {
    const float *const l_re = re + j * pitch, *const l_im = im + j * pitch;
    const float scale = 1 / l_re[j];
    const float own_re = y_re[j] *= scale, own_im = y_im[j] *= scale;
    for (std::int64_t i = j + 1; i < order; i += lanes)
      store(less(load(y_re + i, y_im + i), load(l_re + i, l_im + i), own_re, -own_im), y_re + i, y_im + i);
  }
}

/// x of L^H x = y for one right side; x holds y at first, and zeros from `order` to the next vector.
void substitute_back(const float* re, const float* im, std::int64_t pitch, std::int64_t order, float* x_re,
                     float* x_im) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = order; j-- > 0;) {
    const float *const l_re = re + j * pitch, *const l_im = im + j * pitch;
    V sum_re = hn::Zero(d), sum_im = hn::Zero(d);
    for (std::int64_t i = j + 1; i < order; i += lanes) {  // conj(l) x
      const Z l = load(l_re + i, l_im + i), x = load(x_re + i, x_im + i);
      sum_re = hn::MulAdd(l.im, x.im, hn::MulAdd(l.re, x.re, sum_re));
      sum_im = hn::NegMulAdd(l.im, x.re, hn::MulAdd(l.re, x.im, sum_im));
    }
    const float scale = 1 / l_re[j];
    x_re[j] = (x_re[j] - hn::GetLane(hn::SumOfLanes(d, sum_re))) * scale;
    x_im[j] = (x_im[j] - hn::GetLane(hn::SumOfLanes(d, sum_im))) * scale;
  }
}

}  // namespace iqd::hermitian::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {
namespace hermitian {
HWY_EXPORT(factor);
HWY_EXPORT(substitute_forward);
HWY_EXPORT(substitute_back);

/// For the CPU at hand.
constexpr auto best_factor = [](auto... arguments) { HWY_DYNAMIC_DISPATCH(factor)(arguments...); };
constexpr auto best_forward = [](auto... arguments) { HWY_DYNAMIC_DISPATCH(substitute_forward)(arguments...); };
constexpr auto best_back = [](auto... arguments) { HWY_DYNAMIC_DISPATCH(substitute_back)(arguments...); };
}  // namespace hermitian

namespace {
constexpr std::int64_t kMostLanes = 16;
std::int64_t padded(std::int64_t rows) {
  return (rows + 2 * kMostLanes - 1) / kMostLanes * kMostLanes;
}
}  // namespace

HermitianSystem::HermitianSystem(std::int64_t most_order, std::int64_t most_sides, Scratch& scratch)
    : most_pitch_(padded(most_order + most_sides)),
      re_(scratch.take<float>(most_order * most_pitch_)),
      im_(scratch.take<float>(most_order * most_pitch_)) {}

void HermitianSystem::begin(std::int64_t order, std::int64_t sides) noexcept {
  order_ = order, sides_ = sides, pitch_ = padded(order + sides);
  for (std::int64_t j = 0; j < order; ++j) {
    std::fill(re(j) + rows(), re(j) + pitch_, 0.0f);
    std::fill(im(j) + rows(), im(j) + pitch_, 0.0f);
  }
}

void HermitianSystem::copy(const HermitianSystem& from) noexcept {
  order_ = from.order_, sides_ = from.sides_, pitch_ = from.pitch_;
  for (std::int64_t j = 0; j < order_; ++j) {
    std::copy(from.re(j) + j, from.re(j) + pitch_, re(j) + j);
    std::copy(from.im(j) + j, from.im(j) + pitch_, im(j) + j);
  }
}

void HermitianSystem::factor(float least) noexcept {
  hermitian::best_factor(re_, im_, pitch_, order_, rows(), least);
}

void HermitianSystem::substitute(std::int64_t sides, float* x_re, float* x_im) const noexcept {
  for (std::int64_t s = 0; s < sides; ++s, x_re += pitch_, x_im += pitch_) {
    read_side(s, x_re, x_im);
    hermitian::best_back(re_, im_, pitch_, order_, x_re, x_im);
  }
}

void HermitianSystem::substitute(const HermitianSystem& other, std::int64_t sides, float* x_re,
                                 float* x_im) const noexcept {
  for (std::int64_t s = 0; s < sides; ++s, x_re += pitch_, x_im += pitch_) {
    other.read_side(s, x_re, x_im);
    hermitian::best_forward(re_, im_, pitch_, order_, x_re, x_im);
    std::fill(x_re + order_, x_re + pitch_, 0.0f);
    std::fill(x_im + order_, x_im + pitch_, 0.0f);
    hermitian::best_back(re_, im_, pitch_, order_, x_re, x_im);
  }
}

/// Of `pitch()` floats, zeros behind the last.
void HermitianSystem::read_side(std::int64_t side, float* x_re, float* x_im) const noexcept {
  for (std::int64_t j = 0; j < order_; ++j) x_re[j] = re(j)[order_ + side], x_im[j] = -im(j)[order_ + side];
  std::fill(x_re + order_, x_re + pitch_, 0.0f);
  std::fill(x_im + order_, x_im + pitch_, 0.0f);
}

}  // namespace iqd
#endif
