// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/sync/quadrature_demod/quadrature_demod.hpp"

// A plain loop, compiled once for each kind of CPU, which the compiler vectorises. It may neither fuse nor reorder, so
// a vector's lanes and the rest of a row give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/sync/quadrature_demod/quadrature_demod_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::quadrature_demod::HWY_NAMESPACE {

/// From n samples and the one before them.
void demodulate(const cf32* from, float gain, float* y, std::int64_t n) {
  const auto* const x = reinterpret_cast<const elementwise::Complex*>(from);
  for (std::int64_t i = 0; i < n; ++i) y[i] = gain * arg(product(x[i], conj(x[i - 1])));
}

}  // namespace iqd::quadrature_demod::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::quadrature_demod {

HWY_EXPORT(demodulate);

void run_cpu(View<const cf32, 2> x, std::int64_t past, float gain, View<float, 2> y) noexcept {
  const std::int64_t alone = past == 0 && y.extent(1) > 0 ? 1 : 0;
  for (std::int64_t r = 0; r < y.extent(0); ++r) {
    if (alone > 0) y(r, 0) = 0;
    HWY_DYNAMIC_DISPATCH(demodulate)
    (x.row(r).data() + past + alone, gain, y.row(r).data() + alone, y.extent(1) - alone);
  }
}

}  // namespace iqd::quadrature_demod
#endif
