// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_NOMA_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_NOMA_ROWS_INL_HPP
#undef IQD_NOMA_ROWS_INL_HPP
#else
#define IQD_NOMA_ROWS_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "pipeline/stages/noma/multiuser/working_set.hpp"

/// f of received vectors, its linear and its Gaussian part. Computes kernels for a tile of places, with places across
/// SIMD lanes; then sums a tile for all users, with users across SIMD lanes.
HWY_BEFORE_NAMESPACE();
namespace iqd::noma::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<float, 16>;  // vectors across lanes
using Users = hn::CappedTag<float, kColumns>;
using W = hn::Vec<Wide>;
using U = hn::Vec<Users>;
constexpr int kRows = 4;  // vectors whose kernels are computed at once

inline std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Wide()));
}
inline std::int64_t user_lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Users()));
}

/// 2^t for t from -126 to 0, to 1.7e-7: a polynomial of least relative error for the fractional part (9e-8, plus float
/// rounding).
HWY_INLINE W power_of_two(W t) {
  const Wide d;
  const hn::RebindToSigned<Wide> bits;
  const W magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const W sum = hn::Add(t, magic);
  const W f = hn::Sub(t, hn::Sub(sum, magic));
  W y = hn::Set(d, 1.3264727e-3f);
  for (const float a : {9.6715127e-3f, 5.5507337e-2f, 2.4022242e-1f, 6.9314698e-1f, 1.0f})
    y = hn::MulAdd(y, f, hn::Set(d, a));
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, y), hn::ShiftLeft<23>(hn::BitCast(bits, sum))));
}

/// exp(-|v - x|^2 exponent) from v.x - |v|^2 / 2 - |x|^2 / 2.
struct Kernel {
  explicit Kernel(const Method& m) : slope(hn::Set(Wide(), std::min(2.8853900817f * m.exponent, 1e30f))) {}
  HWY_INLINE W operator()(W product, W halves) const {
    const W t = hn::Mul(hn::Sub(product, halves), slope);
    return power_of_two(hn::Min(hn::Max(t, hn::Set(Wide(), -126.0f)), hn::Zero(Wide())));
  }
  W slope;
};

/// p + jq = v^H x for kRows vectors v and a register of places.
template <int N> HWY_INLINE void multiply(const WorkingSet& w, const Planes& v, std::int64_t first, std::int64_t place,
                                          W (&p)[N], W (&q)[N]) {
  const Wide d;
  for (int n = 0; n < N; ++n) p[n] = q[n] = hn::Zero(d);
  for (int k = 0; k < w.used_count; ++k) {
    const int a = w.antenna(k);
    const W re = hn::LoadU(d, w.places.real(a) + place), im = hn::LoadU(d, w.places.imag(a) + place);
    const float *const v_re = v.real(a) + first, *const v_im = v.imag(a) + first;
    for (int n = 0; n < N; ++n) {
      const W x = hn::Set(d, v_re[n]), y = hn::Set(d, v_im[n]);
      p[n] = hn::MulAdd(y, im, hn::MulAdd(x, re, p[n]));
      q[n] = hn::NegMulAdd(y, re, hn::MulAdd(x, im, q[n]));
    }
  }
}

/// Kernels of a tile of places: of v1 and x1 (the same as of v2 and x2), of v1 and x2, of v2 and x1.
template <int N> struct Tile {
  HWY_ALIGN float k[N][3][kTile];

  HWY_INLINE void fill(const WorkingSet& w, const Planes& v, std::int64_t first, std::int64_t place,
                       std::int64_t count) {
    const Wide d;
    const Kernel kernel(w.method);
    for (std::int64_t i = 0; i < count; i += lanes()) {
      W p[N], q[N];
      multiply<N>(w, v, first, place + i, p, q);
      const W half = hn::LoadU(d, w.places.half + place + i);
      for (int n = 0; n < N; ++n) {
        const W halves = hn::Add(hn::Set(d, v.half[first + n]), half);
        hn::Store(kernel(p[n], halves), d, k[n][0] + i);
        hn::Store(kernel(q[n], halves), d, k[n][1] + i);
        hn::Store(kernel(hn::Neg(q[n]), halves), d, k[n][2] + i);
      }
    }
  }
};

/// sum += k gamma over `count` places, for some users.
template <int N> HWY_INLINE void add_kernels(const WorkingSet& w, const Tile<N>& tile, std::int64_t place,
                                             std::int64_t count, std::int64_t user, float* to) {
  const Users d;
  U re[N], im[N];
  for (int n = 0; n < N; ++n)
    re[n] = hn::Load(d, to + w.row(n, 0) + user), im[n] = hn::Load(d, to + w.row(n, 1) + user);
  for (std::int64_t i = 0; i < count; ++i) {
    const U g1 = hn::Load(d, w.gamma + w.row(place + i, 0) + user),
            g2 = hn::Load(d, w.gamma + w.row(place + i, 1) + user);
    for (int n = 0; n < N; ++n) {
      const U same = hn::Set(d, tile.k[n][0][i]);
      re[n] = hn::MulAdd(hn::Set(d, tile.k[n][1][i]), g2, hn::MulAdd(same, g1, re[n]));
      im[n] = hn::MulAdd(same, g2, hn::MulAdd(hn::Set(d, tile.k[n][2][i]), g1, im[n]));
    }
  }
  for (int n = 0; n < N; ++n)
    hn::Store(re[n], d, to + w.row(n, 0) + user), hn::Store(im[n], d, to + w.row(n, 1) + user);
}

template <int N>
void sum_gaussian(const WorkingSet& w, const Planes& v, std::int64_t first, std::int64_t end_place, float* to) {
  std::fill_n(to, w.row(N, 0), 0.0f);
  Tile<N> tile;
  for (std::int64_t place = w.first_place; place < end_place; place += kTile) {
    const std::int64_t count = std::min(kTile, end_place - place);
    tile.fill(w, v, first, place, count);
    for (std::int64_t user = 0; user < w.columns; user += user_lanes()) add_kernels<N>(w, tile, place, count, user, to);
  }
}

/// w_L c.v of both rows: conj(c) x.
HWY_INLINE void sum_linear(const WorkingSet& w, const Planes& v, std::int64_t at, float* to) {
  const Users d;
  const U weight = hn::Set(d, w.method.linear);
  for (std::int64_t user = 0; user < w.columns; user += user_lanes()) {
    U re = hn::Zero(d), im = hn::Zero(d);
    for (int k = 0; k < w.used_count; ++k) {
      const int a = w.antenna(k);
      const U c_re = hn::Load(d, w.c + w.row(a, 0) + user), c_im = hn::Load(d, w.c + w.row(a, 1) + user);
      const U x = hn::Set(d, v.real(a)[at]), y = hn::Set(d, v.imag(a)[at]);
      re = hn::MulAdd(c_im, y, hn::MulAdd(c_re, x, re));
      im = hn::NegMulAdd(c_im, x, hn::MulAdd(c_re, y, im));
    }
    hn::Store(hn::Mul(weight, re), d, to + user);
    hn::Store(hn::Mul(weight, im), d, to + w.columns + user);
  }
}

}  // namespace iqd::noma::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
