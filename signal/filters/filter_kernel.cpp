// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/filter_kernel.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/filters/filter_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// The scalar version: what the vectors below compute, except for the order of the taps.
void filter(std::span<const FilterPhase> phases, std::int64_t step, float* y, std::int64_t floats) {
  for (std::int64_t i = 0; i < floats; ++i) {
    float sum = 0;
    const float cross = i % 2 ? 1.0f : -1.0f;  // of im(h): times the other part of x
    for (const FilterPhase& p : phases)
      for (std::int64_t q = 0; q < p.taps; ++q) {
        sum += p.re[q] * p.x[i - step * q];
        if (p.im != nullptr) sum += cross * p.im[q] * p.x[(i ^ 1) - step * q];
      }
    y[i] = sum;
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
/// Vectors of outputs held in registers at once. Each needs an accumulator (two for complex taps) and a window slot;
/// there are 32 registers with AVX-512, else 16.
constexpr int kReal = HWY_TARGET <= HWY_AVX3 ? 8 : 6;
constexpr int kComplex = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
/// Products that are added to one sum in sequence. Then the sum is set aside, since rounding errors grow with the
/// length of the chain. Filters of up to twice this length do without, which is a seventh faster.
constexpr std::int64_t kRun = 64;

/// n vectors of outputs, side by side. Tap q of output vector j reads x one vector earlier than tap q - residues does,
/// which is where that tap reads for output vector j - 1. So from one tap to the next of the same residue the window of
/// inputs moves by one vector, and n multiplications need one load.
template <int n, bool complex_taps, bool in_runs> struct Accumulators {
  V re[n];
  V im[complex_taps ? n : 1];
  V aside_re[in_runs ? n : 1];
  V aside_im[in_runs && complex_taps ? n : 1];
  V window[n];
  const float* x = nullptr;
  const float* h_re = nullptr;
  const float* h_im = nullptr;
  std::int64_t residues = 1;
  std::int64_t steps = 0;

  // Has the target's instructions. GCC gives none to the implicit constructor, which could not construct vectors.
  Accumulators() = default;

  template <int U, std::size_t... J> HWY_INLINE void multiply(V h, V (&sum)[n], std::index_sequence<J...>) {
    ((sum[J] = hn::MulAdd(h, window[(J + n - U) % n], sum[J])), ...);
  }
  template <int U> HWY_INLINE bool step(std::int64_t t) {
    if (t + U >= steps) return false;
    const D d;
    const std::int64_t q = (t + U) * residues;
    multiply<U>(hn::Set(d, h_re[q]), re, std::make_index_sequence<n>());
    if constexpr (complex_taps) multiply<U>(hn::Set(d, h_im[q]), im, std::make_index_sequence<n>());
    window[n - 1 - U] = hn::LoadU(d, x - (t + U + 1) * kLanes);
    return true;
  }
  template <std::size_t... U> HWY_INLINE void run(std::index_sequence<U...>) {
    for (std::int64_t t = 0; (step<static_cast<int>(U)>(t) && ...); t += n) {
    }
  }
  template <std::size_t... J> HWY_INLINE void load(std::index_sequence<J...>) {
    const D d;
    ((window[J] = hn::LoadU(d, x + static_cast<std::int64_t>(J) * kLanes)), ...);
  }
  template <std::size_t... J> HWY_INLINE void clear(std::index_sequence<J...>) {
    const D d;
    ((re[J] = hn::Zero(d)), ...);
    if constexpr (complex_taps) ((im[J] = hn::Zero(d)), ...);
    if constexpr (in_runs) ((aside_re[J] = hn::Zero(d)), ...);
    if constexpr (in_runs && complex_taps) ((aside_im[J] = hn::Zero(d)), ...);
  }
  template <std::size_t... J> HWY_INLINE void put_aside(std::index_sequence<J...>) {
    const D d;
    ((aside_re[J] = hn::Add(aside_re[J], re[J]), re[J] = hn::Zero(d)), ...);
    if constexpr (complex_taps) ((aside_im[J] = hn::Add(aside_im[J], im[J]), im[J] = hn::Zero(d)), ...);
  }
  HWY_INLINE V result(std::size_t j) const {
    const V sum = in_runs ? aside_re[in_runs ? j : 0] : re[j];
    if constexpr (!complex_taps) return sum;
    const V turned = hn::Shuffle2301(in_runs ? aside_im[in_runs && complex_taps ? j : 0] : im[complex_taps ? j : 0]);
    return hn::OddEven(hn::Add(sum, turned), hn::Sub(sum, turned));
  }
};

template <int n, bool complex_taps, bool in_runs, class Store>
HWY_INLINE void filter_vectors(std::span<const FilterPhase> phases, std::int64_t step, std::int64_t at, Store store) {
  constexpr auto kAll = std::make_index_sequence<n>();
  Accumulators<n, complex_taps, in_runs> sums;
  sums.clear(kAll);
  sums.residues = kLanes / step;
  [[maybe_unused]] std::int64_t chained = 0;
  for (const FilterPhase& p : phases)
    for (std::int64_t r = 0; r < std::min(sums.residues, p.taps); ++r) {
      const std::int64_t steps = (p.taps - r + sums.residues - 1) / sums.residues;
      const std::int64_t run = in_runs ? kRun : steps;
      for (std::int64_t t = 0; t < steps; t += run) {
        sums.steps = std::min(run, steps - t);
        if constexpr (in_runs) {
          if (chained + sums.steps > kRun) sums.put_aside(kAll), chained = 0;
          chained += sums.steps;
        }
        sums.x = p.x + at - step * r - t * kLanes;
        sums.h_re = p.re + r + t * sums.residues;
        sums.h_im = complex_taps ? p.im + r + t * sums.residues : nullptr;
        sums.load(kAll);
        sums.run(kAll);
      }
    }
  if constexpr (in_runs) sums.put_aside(kAll);
  for (std::size_t j = 0; j < n; ++j) store(sums.result(j), static_cast<std::int64_t>(j) * kLanes);
}

template <int n, bool complex_taps, bool in_runs>
void filter_rows(std::span<const FilterPhase> phases, std::int64_t step, float* y, std::int64_t floats) {
  const D d;
  std::int64_t at = 0;
  for (; at + n * kLanes <= floats; at += n * kLanes)
    filter_vectors<n, complex_taps, in_runs>(phases, step, at,
                                             [&](V v, std::int64_t j) HWY_ATTR { hn::StoreU(v, d, y + at + j); });
  for (; at + kLanes <= floats; at += kLanes)
    filter_vectors<1, complex_taps, in_runs>(phases, step, at,
                                             [&](V v, std::int64_t) HWY_ATTR { hn::StoreU(v, d, y + at); });
  if (at == floats) return;
  HWY_ALIGN float last[kLanes];
  filter_vectors<1, complex_taps, in_runs>(phases, step, at,
                                           [&](V v, std::int64_t) HWY_ATTR { hn::Store(v, d, last); });
  std::copy_n(last, floats - at, y + at);
}

template <bool in_runs>
void filter_with(std::span<const FilterPhase> phases, std::int64_t step, float* y, std::int64_t floats) {
  if (phases[0].im != nullptr) return filter_rows<kComplex, true, in_runs>(phases, step, y, floats);
  filter_rows<kReal, false, in_runs>(phases, step, y, floats);
}

void filter(std::span<const FilterPhase> phases, std::int64_t step, float* y, std::int64_t floats) {
  std::int64_t taps = 0;
  for (const FilterPhase& p : phases) taps += p.taps;
  taps > 2 * kRun ? filter_with<true>(phases, step, y, floats) : filter_with<false>(phases, step, y, floats);
}

#endif

std::int64_t lanes() {
  return static_cast<std::int64_t>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<float>()));
}

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(filter);
HWY_EXPORT(lanes);

void filter_tile(std::span<const FilterPhase> phases, bool complex, float* y, std::int64_t outputs) noexcept {
  const std::int64_t step = complex ? 2 : 1;
  HWY_DYNAMIC_DISPATCH(filter)(phases, step, y, outputs * step);
}

std::int64_t filter_lanes() noexcept {
  return HWY_DYNAMIC_DISPATCH(lanes)();
}

}  // namespace iqd
#endif
