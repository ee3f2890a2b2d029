// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MIMO_TRIANGLE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MIMO_TRIANGLE_INL_HPP
#undef IQD_MIMO_TRIANGLE_INL_HPP
#else
#define IQD_MIMO_TRIANGLE_INL_HPP
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "pipeline/stages/mimo/detector.hpp"

/// What precedes the search, for one vector per SIMD lane: h and y scaled by the power of two that brings the largest
/// part of h into [1, 2); sorted QR; y projected on Q. Fused products are written out, in the same order as in
/// triangle.cuh, so that both sort alike.
HWY_BEFORE_NAMESPACE();
namespace iqd::mimo::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kMostLanes = 16;
inline constexpr int kMostLevels = 16;  // of an axis
using F = hn::CappedTag<float, kMostLanes>;
using I = hn::RebindToSigned<F>;
using V = hn::Vec<F>;

HWY_INLINE int lanes() {
  return static_cast<int>(hn::Lanes(F()));
}
HWY_INLINE V all(float x) {
  return hn::Set(F(), x);
}

/// A number per lane, in memory.
struct alignas(64) Real {
  float at[kMostLanes];

  HWY_INLINE V get() const { return hn::Load(F(), at); }
  HWY_INLINE void set(V v) { hn::Store(v, F(), at); }
};
/// In registers, and in memory.
struct ComplexV {
  V re, im;
};
struct ComplexLanes {
  Real re, im;

  HWY_INLINE ComplexV get() const { return {re.get(), im.get()}; }
  HWY_INLINE void set(ComplexV p) {
    re.set(p.re);
    im.set(p.im);
  }
};

/// c - a b
HWY_INLINE ComplexV minus_product(ComplexV c, ComplexV a, ComplexV b) {
  return {hn::MulAdd(a.im, b.im, hn::NegMulAdd(a.re, b.re, c.re)),
          hn::NegMulAdd(a.im, b.re, hn::NegMulAdd(a.re, b.im, c.im))};
}
/// sum + |a|^2
HWY_INLINE V plus_square(V sum, ComplexV a) {
  return hn::MulAdd(a.im, a.im, hn::MulAdd(a.re, a.re, sum));
}
HWY_INLINE V energy(const ComplexLanes* x, int n) {
  V sum = all(0);
  for (int i = 0; i < n; ++i) sum = plus_square(sum, x[i].get());
  return sum;
}
/// a^H x
HWY_INLINE ComplexV inner_product(const ComplexLanes* a, const ComplexLanes* x, int n) {
  ComplexV sum{all(0), all(0)};
  for (int i = 0; i < n; ++i) {
    const ComplexV p = a[i].get(), q = x[i].get();
    sum.re = hn::MulAdd(p.im, q.im, hn::MulAdd(p.re, q.re, sum.re));
    sum.im = hn::NegMulAdd(p.im, q.re, hn::MulAdd(p.re, q.im, sum.im));
  }
  return sum;
}

struct Front {
  int rx, tx, bits;  // bits of the largest alphabet
  bool mixed;        // there are smaller ones
  // of the channel
  ComplexLanes q[kMostAntennas][kMostAntennas];  // [column][rx]: H until it is Q
  ComplexLanes r[kMostAntennas][kMostAntennas];  // [row][column], with the power of symbols
  Real per_step[kMostAntennas];                  // 1 / R_mm, or 0
  Real anywhere[kMostAntennas];                  // a symbol's amplitude where R_mm is 0; else 0
  Real antenna[kMostAntennas];                   // antenna of each column
  Real sent[kMostAntennas];                      // bits of each antenna's points, if alphabets are mixed
  Real top[kMostAntennas];                       // highest level of each column's symbols
  Real silent[kMostAntennas];                    // of each column's antenna: not 0: it sends nothing
  Real half, rest;                               // power of two of the scaling, as two factors
  Real no_channel;                               // not 0: zero or not finite
  // of the vector
  std::int64_t vector[kMostLanes];
  bool in_use[kMostLanes];
  ComplexLanes y[kMostAntennas];  // the part outside of Q
  ComplexLanes z[kMostAntennas];  // Q^H y
  Real noise;
  Real residual;
  Real erased;  // not 0: erased
  // what the search fills
  Real llr[kMostAntennas][kMostAntennas];  // [row][bit]
  Real least;                              // |z - R s|^2 of the best s
  // of the prior; 0 without one
  bool has_prior;
  bool has_costs;                                  // by a prior, or since levels are absent
  Real prior[kMostAntennas][kMostAntennas];        // [row][bit]: LLR
  Real level_cost[kMostAntennas][2][kMostLevels];  // [row][axis][label]: noise times its cost; absent: infinite
};

/// Element `n` after each lane's position.
HWY_INLINE V gather(const float* from, hn::Vec<I> at, int n) {
  return hn::GatherIndex(F(), from + n, at);
}
HWY_INLINE V factor(hn::Vec<I> exponent) {
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(I(), 127))));
}

/// The two factors that bring the largest part of H into [1, 2), from the bits of its magnitude.
inline void scale_channel(Front& f, hn::Vec<I> largest) {
  const auto smallest_normal = hn::Set(I(), 0x00800000);
  const auto bad = hn::Or(hn::Eq(largest, hn::Zero(I())), hn::Gt(largest, hn::Set(I(), 0x7f7fffff)));
  const auto subnormal = hn::Lt(largest, smallest_normal);
  const auto counted = hn::BitCast(I(), hn::ConvertTo(F(), largest));  // in units of 2^-149
  const auto exponent = hn::Sub(hn::ShiftRight<23>(hn::IfThenElse(subnormal, counted, largest)),
                                hn::IfThenElse(subnormal, hn::Set(I(), 127 + 149), hn::Set(I(), 127)));
  const auto up = hn::IfThenZeroElse(bad, hn::Neg(exponent));
  const auto half = hn::ShiftRight<1>(up);
  f.half.set(factor(half));
  f.rest.set(factor(hn::Sub(up, half)));
  f.no_channel.set(hn::IfThenElseZero(hn::RebindMask(F(), bad), all(1)));
}

inline void load_channel(Front& f, const float* h, hn::Vec<I> at) {
  auto largest = hn::Zero(I());
  for (int c = 0; c < f.tx; ++c)
    for (int n = 0; n < f.rx; ++n) {
      const ComplexV p{gather(h, at, 2 * (n * f.tx + c)), gather(h, at, 2 * (n * f.tx + c) + 1)};
      f.q[c][n].set(p);
      for (const V part : {p.re, p.im}) largest = hn::Max(largest, hn::BitCast(I(), hn::Abs(part)));
    }
  scale_channel(f, largest);
  const auto bad = hn::Gt(f.no_channel.get(), all(0));
  const V half = f.half.get(), rest = f.rest.get();
  const auto scaled = [&](V part) { return hn::IfThenZeroElse(bad, hn::Mul(hn::Mul(part, half), rest)); };
  for (int c = 0; c < f.tx; ++c)
    for (int n = 0; n < f.rx; ++n) f.q[c][n].set({scaled(f.q[c][n].re.get()), scaled(f.q[c][n].im.get())});
}

HWY_INLINE void swap_where(hn::Mask<F> where, Real& a, Real& b) {
  const V x = a.get(), y = b.get();
  a.set(hn::IfThenElse(where, y, x));
  b.set(hn::IfThenElse(where, x, y));
}
HWY_INLINE void swap_where(hn::Mask<F> where, ComplexLanes& a, ComplexLanes& b) {
  swap_where(where, a.re, b.re);
  swap_where(where, a.im, b.im);
}

/// Brings the column of least norm to place i; of equal norms the first.
inline void choose_column(Front& f, int i, Real* norm, Real* whole) {
  V least = norm[i].get(), choice = all(static_cast<float>(i));
  for (int j = i + 1; j < f.tx; ++j) {
    const auto less = hn::Lt(norm[j].get(), least);
    least = hn::IfThenElse(less, norm[j].get(), least);
    choice = hn::IfThenElse(less, all(static_cast<float>(j)), choice);
  }
  for (int j = i + 1; j < f.tx; ++j) {
    const auto chosen = hn::Eq(choice, all(static_cast<float>(j)));
    for (Real* const of_column : {norm, whole, f.antenna}) swap_where(chosen, of_column[i], of_column[j]);
    for (int n = 0; n < f.rx; ++n) swap_where(chosen, f.q[i][n], f.q[j][n]);
    for (int row = 0; row < i; ++row) swap_where(chosen, f.r[row][i], f.r[row][j]);
  }
}

/// Brings the columns of smaller alphabets to the largest one's scale.
inline void scale_columns(Front& f) {
  for (int c = 0; c < f.tx; ++c) {
    Real gain;
    for (int l = 0; l < lanes(); ++l) gain.at[l] = Alphabet{f.bits, static_cast<int>(f.sent[c].at[l])}.gain();
    for (int n = 0; n < f.rx; ++n) {
      const ComplexV p = f.q[c][n].get();
      f.q[c][n].set({hn::Mul(p.re, gain.get()), hn::Mul(p.im, gain.get())});
    }
  }
}
/// The alphabet of the row's antenna, in a lane.
inline Alphabet alphabet_of(const Front& f, int row, int lane) {
  return {f.bits, static_cast<int>(f.sent[static_cast<int>(f.antenna[row].at[lane])].at[lane])};
}

/// H -> Q and R, by modified Gram-Schmidt. Norms are recomputed at each step: with nearly dependent columns,
/// subtracting squares would leave only rounding errors.
inline void decompose(Front& f) {
  constexpr float kDependent = 0x1p-40f;  // rounding leaves less than this of a column's square
  const V power = all(static_cast<float>(1 / std::sqrt(static_cast<double>(qam::power(f.bits / 2)))));
  Real norm[kMostAntennas], whole[kMostAntennas];
  for (int c = 0; c < f.tx; ++c) {
    norm[c].set(energy(f.q[c], f.rx));
    whole[c] = norm[c];
    f.antenna[c].set(all(static_cast<float>(c)));
  }
  for (int i = 0; i < f.tx; ++i) {
    choose_column(f, i, norm, whole);
    const auto depends = hn::Le(norm[i].get(), hn::Mul(whole[i].get(), all(kDependent)));
    const V length = hn::IfThenZeroElse(depends, hn::Sqrt(norm[i].get()));
    const V inverse = hn::IfThenZeroElse(depends, hn::Div(all(1), length));
    const V diagonal = hn::Mul(length, power);
    f.r[i][i].set({diagonal, all(0)});
    f.per_step[i].set(hn::IfThenZeroElse(depends, hn::Div(all(1), diagonal)));
    f.anywhere[i].set(hn::IfThenElseZero(depends, all(static_cast<float>(qam::amplitude(f.bits / 2, 0)))));
    for (int n = 0; n < f.rx; ++n)
      f.q[i][n].set({hn::Mul(f.q[i][n].re.get(), inverse), hn::Mul(f.q[i][n].im.get(), inverse)});
    for (int c = i + 1; c < f.tx; ++c) {
      const ComplexV along = inner_product(f.q[i], f.q[c], f.rx);
      for (int n = 0; n < f.rx; ++n) f.q[c][n].set(minus_product(f.q[c][n].get(), f.q[i][n].get(), along));
      f.r[i][c].set({hn::Mul(along.re, power), hn::Mul(along.im, power)});
      norm[c].set(energy(f.q[c], f.rx));
    }
  }
}

/// Loads y and noise; computes z, residual and erased.
inline void load_vector(Front& f, const float* y, hn::Vec<I> at, V noise) {
  constexpr float kLargest = 0x1p120f;  // of |y|^2, so that all distances are finite
  const V half = f.half.get(), rest = f.rest.get();
  const auto scaled = [&](V x) { return hn::Mul(hn::Mul(x, half), rest); };
  for (int n = 0; n < f.rx; ++n) f.y[n].set({scaled(gather(y, at, 2 * n)), scaled(gather(y, at, 2 * n + 1))});
  const auto usable = hn::And(hn::And(hn::Ge(noise, all(0)), hn::Le(noise, all(std::numeric_limits<float>::max()))),
                              hn::And(hn::Le(energy(f.y, f.rx), all(kLargest)), hn::Eq(f.no_channel.get(), all(0))));
  f.erased.set(hn::IfThenZeroElse(usable, all(1)));
  for (int n = 0; n < f.rx; ++n)
    f.y[n].set({hn::IfThenElseZero(usable, f.y[n].re.get()), hn::IfThenElseZero(usable, f.y[n].im.get())});
  const V of_scale = hn::Mul(hn::Mul(hn::Mul(hn::Mul(noise, half), half), rest), rest);
  f.noise.set(hn::IfThenElse(usable, hn::Max(of_scale, all(std::numeric_limits<float>::min())), all(1)));
  for (int i = 0; i < f.tx; ++i) {
    const ComplexV along = inner_product(f.q[i], f.y, f.rx);
    for (int n = 0; n < f.rx; ++n) f.y[n].set(minus_product(f.y[n].get(), f.q[i][n].get(), along));
    f.z[i].set(along);
  }
  f.residual.set(energy(f.y, f.rx));
}

}  // namespace iqd::mimo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
