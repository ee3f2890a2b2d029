// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/filters/rotate/rotate.hpp"

// A plain loop, compiled once for each kind of CPU, which the compiler vectorises. It may neither fuse nor reorder, so
// a vector's lanes and the rest of a row give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/filters/rotate/rotate_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::rotate::HWY_NAMESPACE {

using elementwise::Complex;
using elementwise::product;

/// y = x · (factor · table)
void rotate_run(const cf32* x, const cf32* table, const cf32* table_j, cf32 factor, cf32* y, std::int64_t n) {
  const float re = factor.real();
  const float im = factor.imag();
  const float minus_im = -im;
  const auto* const from = reinterpret_cast<const Complex*>(x);
  const auto* const t = reinterpret_cast<const Complex*>(table);
  const auto* const tj = reinterpret_cast<const Complex*>(table_j);
  auto* const to = reinterpret_cast<Complex*>(y);
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = product(from[i].re, from[i].im, product(re, im, t[i], tj[i]), product(re, minus_im, tj[i], t[i]));
}

}  // namespace iqd::rotate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::rotate {

HWY_EXPORT(rotate_run);

Rotator::Rotator(Phase step, Phase start) : step_(step), start_(start) {
  for (std::int64_t i = 0; i < kRun; ++i) {
    const cf32 turn((step_ * i).phasor());
    table_.push_back(turn);
    table_j_.emplace_back(-turn.imag(), turn.real());
  }
}

void run_cpu(const Rotator& rotator, View<const cf32, 2> x, std::int64_t first, View<cf32, 2> y) noexcept {
  const std::int64_t end = first + y.extent(1);
  for (std::int64_t n = first; n < end;) {
    const std::int64_t place = n % Rotator::kRun;
    const std::int64_t length = std::min(Rotator::kRun - place, end - n);
    const cf32 factor(rotator.at(n - place).phasor());
    for (std::int64_t r = 0; r < y.extent(0); ++r) HWY_DYNAMIC_DISPATCH(rotate_run)
    (&x(r, n - first), rotator.table() + place, rotator.table_j() + place, factor, &y(r, n - first), length);
    n += length;
  }
}

}  // namespace iqd::rotate
#endif
