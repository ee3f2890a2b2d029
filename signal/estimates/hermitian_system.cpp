// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/estimates/hermitian_system.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#ifndef IQD_HERMITIAN_METHODS
#define IQD_HERMITIAN_METHODS
namespace iqd::hermitian {
/// What is compiled for each kind of CPU.
template <class T> struct Methods {
  void (*factor)(T* re, T* im, std::int64_t pitch, std::int64_t order, std::int64_t rows, bool inverse, T least);
  void (*substitute_forward)(const T* re, const T* im, std::int64_t pitch, std::int64_t order, T* y_re, T* y_im);
  void (*substitute_back)(const T* re, const T* im, std::int64_t pitch, std::int64_t order, T* x_re, T* x_im);
};
}  // namespace iqd::hermitian
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/estimates/hermitian_system.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::hermitian::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
template <class T> using D = hn::ScalableTag<T>;
template <class T> using V = hn::Vec<D<T>>;

constexpr std::int64_t kPanel = 16;  // columns that are finished before the others are updated
/// Columns that are updated at once: their sums take half of 16 registers, or of 32.
constexpr int kTile = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

/// A complex vector.
template <class T> struct Z {
  HWY_INLINE Z() {}  // NOLINT(*-use-equals-default): GCC compiles a default one without the target's instructions
  HWY_INLINE Z(V<T> real, V<T> imag) : re(real), im(imag) {}
  V<T> re, im;
};
template <class T> HWY_INLINE Z<T> load(const T* re, const T* im) {
  const D<T> d;
  return {hn::LoadU(d, re), hn::LoadU(d, im)};
}
template <class T> HWY_INLINE void store(Z<T> z, T* re, T* im) {
  const D<T> d;
  hn::StoreU(z.re, d, re);
  hn::StoreU(z.im, d, im);
}
/// z - a conj(b)
template <class T> HWY_INLINE Z<T> less(Z<T> z, Z<T> a, T b_re, T b_im) {
  const D<T> d;
  const V<T> re = hn::Set(d, b_re), im = hn::Set(d, b_im);
  return {hn::NegMulAdd(a.im, im, hn::NegMulAdd(a.re, re, z.re)), hn::MulAdd(a.re, im, hn::NegMulAdd(a.im, re, z.im))};
}

/// Columns [begin, end) become columns of L. Columns before `begin` have been taken away already.
template <class T>
void finish_panel(T* re, T* im, std::int64_t pitch, std::int64_t begin, std::int64_t end, std::int64_t rows, T least) {
  const D<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = begin; j < end; ++j) {
    T* const own_re = re + j * pitch;
    T* const own_im = im + j * pitch;
    for (std::int64_t i = j; i < rows; i += lanes) {
      Z<T> z = load(own_re + i, own_im + i);
      for (std::int64_t k = begin; k < j; ++k) {
        const T *const a_re = re + k * pitch, *const a_im = im + k * pitch;
        z = less(z, load(a_re + i, a_im + i), a_re[j], a_im[j]);
      }
      store(z, own_re + i, own_im + i);
    }
    const T scale = 1 / std::sqrt(std::max(own_re[j], least));
    for (std::int64_t i = j; i < rows; i += lanes) {
      const Z<T> z = load(own_re + i, own_im + i);
      store<T>({hn::Mul(z.re, hn::Set(d, scale)), hn::Mul(z.im, hn::Set(d, scale))}, own_re + i, own_im + i);
    }
    own_re[j] = 1 / scale;
    own_im[j] = 0;
  }
}

/// Takes the products of columns [begin, end) from `count` columns that begin at j. Elements above the diagonal, within
/// a vector of it, change too; nothing reads them.
template <int count, class T> void update_columns(T* re, T* im, std::int64_t pitch, std::int64_t begin,
                                                  std::int64_t end, std::int64_t j, std::int64_t rows) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D<T>()));
  for (std::int64_t i = j; i < rows; i += lanes) {
    Z<T> z[count];
    HWY_UNROLL(8)
    for (int c = 0; c < count; ++c) z[c] = load(re + (j + c) * pitch + i, im + (j + c) * pitch + i);
    for (std::int64_t k = begin; k < end; ++k) {
      const T *const a_re = re + k * pitch, *const a_im = im + k * pitch;
      const Z<T> a = load(a_re + i, a_im + i);
      HWY_UNROLL(8)
      for (int c = 0; c < count; ++c) z[c] = less(z[c], a, a_re[j + c], a_im[j + c]);
    }
    HWY_UNROLL(8)
    for (int c = 0; c < count; ++c) store(z[c], re + (j + c) * pitch + i, im + (j + c) * pitch + i);
  }
}

/// `inverse`: behind the rows follow those of the unit vectors, each of zeros up to its own column.
template <class T>
void factor(T* re, T* im, std::int64_t pitch, std::int64_t order, std::int64_t rows, bool inverse, T least) {
  for (std::int64_t begin = 0; begin < order; begin += kPanel) {
    const std::int64_t end = std::min(begin + kPanel, order), used = rows + (inverse ? end : 0);
    finish_panel(re, im, pitch, begin, end, used, least);
    std::int64_t j = end;
    for (; j + kTile <= order; j += kTile) update_columns<kTile>(re, im, pitch, begin, end, j, used);
    for (; j < order; ++j) update_columns<1>(re, im, pitch, begin, end, j, used);
  }
}

/// y of L y = q for one right side; y holds q at first, and becomes anything from `order` to the next vector.
template <class T>
void substitute_forward(const T* re, const T* im, std::int64_t pitch, std::int64_t order, T* y_re, T* y_im) {
  const D<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < order; ++j) {
    const T *const l_re = re + j * pitch, *const l_im = im + j * pitch;
    const T scale = 1 / l_re[j];
    const T own_re = y_re[j] *= scale, own_im = y_im[j] *= scale;
    for (std::int64_t i = j + 1; i < order; i += lanes)
      store(less(load(y_re + i, y_im + i), load(l_re + i, l_im + i), own_re, -own_im), y_re + i, y_im + i);
  }
}

/// x of L^H x = y for one right side; x holds y at first, and zeros from `order` to the next vector.
template <class T>
void substitute_back(const T* re, const T* im, std::int64_t pitch, std::int64_t order, T* x_re, T* x_im) {
  const D<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = order; j-- > 0;) {
    const T *const l_re = re + j * pitch, *const l_im = im + j * pitch;
    V<T> sum_re = hn::Zero(d), sum_im = hn::Zero(d);
    for (std::int64_t i = j + 1; i < order; i += lanes) {  // conj(l) x
      const Z<T> l = load(l_re + i, l_im + i), x = load(x_re + i, x_im + i);
      sum_re = hn::MulAdd(l.im, x.im, hn::MulAdd(l.re, x.re, sum_re));
      sum_im = hn::NegMulAdd(l.im, x.re, hn::MulAdd(l.re, x.im, sum_im));
    }
    const T scale = 1 / l_re[j];
    x_re[j] = (x_re[j] - hn::GetLane(hn::SumOfLanes(d, sum_re))) * scale;
    x_im[j] = (x_im[j] - hn::GetLane(hn::SumOfLanes(d, sum_im))) * scale;
  }
}

/// For a precision.
template <class T> Methods<T> methods() {
  return {.factor = factor<T>, .substitute_forward = substitute_forward<T>, .substitute_back = substitute_back<T>};
}
Methods<float> in_floats() {
  return methods<float>();
}
Methods<double> in_doubles() {
  return methods<double>();
}

}  // namespace iqd::hermitian::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {
namespace hermitian {
HWY_EXPORT(in_floats);
HWY_EXPORT(in_doubles);

/// For the CPU at hand.
template <class T> Methods<T> best() {
  if constexpr (std::is_same_v<T, double>)
    return HWY_DYNAMIC_DISPATCH(in_doubles)();
  else
    return HWY_DYNAMIC_DISPATCH(in_floats)();
}
}  // namespace hermitian

namespace {
constexpr std::int64_t kMostLanes = 16;
std::int64_t padded(std::int64_t rows) {
  return (rows + 2 * kMostLanes - 1) / kMostLanes * kMostLanes;
}
}  // namespace

template <class T>
HermitianSystemOf<T>::HermitianSystemOf(std::int64_t most_order, std::int64_t most_sides, Scratch& scratch)
    : most_pitch_(padded(most_order + most_sides)),
      re_(scratch.take<T>(most_order * most_pitch_)),
      im_(scratch.take<T>(most_order * most_pitch_)) {}

template <class T> void HermitianSystemOf<T>::begin(std::int64_t order, std::int64_t sides, bool inverse) noexcept {
  order_ = order, sides_ = sides, inverse_ = inverse, pitch_ = padded(rows() + (inverse ? order : 0));
  for (std::int64_t j = 0; j < order; ++j) {
    std::fill(re(j) + rows(), re(j) + pitch_, T{0});
    std::fill(im(j) + rows(), im(j) + pitch_, T{0});
    if (inverse) re(j)[rows() + j] = 1;
  }
}

template <class T> void HermitianSystemOf<T>::copy(const HermitianSystemOf& from) noexcept {
  order_ = from.order_, sides_ = from.sides_, pitch_ = from.pitch_, inverse_ = from.inverse_;
  for (std::int64_t j = 0; j < order_; ++j) {
    std::copy(from.re(j) + j, from.re(j) + pitch_, re(j) + j);
    std::copy(from.im(j) + j, from.im(j) + pitch_, im(j) + j);
  }
}

template <class T> void HermitianSystemOf<T>::factor(T least) noexcept {
  hermitian::best<T>().factor(re_, im_, pitch_, order_, rows(), inverse_, least);
}

template <class T> void HermitianSystemOf<T>::substitute(std::int64_t sides, T* x_re, T* x_im) const noexcept {
  for (std::int64_t s = 0; s < sides; ++s, x_re += pitch_, x_im += pitch_) {
    read_side(s, x_re, x_im);
    hermitian::best<T>().substitute_back(re_, im_, pitch_, order_, x_re, x_im);
  }
}

template <class T> void HermitianSystemOf<T>::substitute(const HermitianSystemOf& other, std::int64_t sides, T* x_re,
                                                         T* x_im) const noexcept {
  for (std::int64_t s = 0; s < sides; ++s, x_re += pitch_, x_im += pitch_) {
    other.read_side(s, x_re, x_im);
    hermitian::best<T>().substitute_forward(re_, im_, pitch_, order_, x_re, x_im);
    std::fill(x_re + order_, x_re + pitch_, T{0});
    std::fill(x_im + order_, x_im + pitch_, T{0});
    hermitian::best<T>().substitute_back(re_, im_, pitch_, order_, x_re, x_im);
  }
}

template <class T> void HermitianSystemOf<T>::read_inverse(T* diagonal) const noexcept {
  std::fill_n(diagonal, order_, T{0});
  for (std::int64_t j = 0; j < order_; ++j) {
    const T *const own_re = re(j) + rows(), *const own_im = im(j) + rows();
    for (std::int64_t l = 0; l <= j; ++l) diagonal[l] += own_re[l] * own_re[l] + own_im[l] * own_im[l];
  }
}

/// Of `pitch()` numbers, zeros behind the last.
template <class T> void HermitianSystemOf<T>::read_side(std::int64_t side, T* x_re, T* x_im) const noexcept {
  for (std::int64_t j = 0; j < order_; ++j) x_re[j] = re(j)[order_ + side], x_im[j] = -im(j)[order_ + side];
  std::fill(x_re + order_, x_re + pitch_, T{0});
  std::fill(x_im + order_, x_im + pitch_, T{0});
}

template class HermitianSystemOf<float>;
template class HermitianSystemOf<double>;

}  // namespace iqd
#endif
