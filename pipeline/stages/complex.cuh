// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers in device code, as float2. Compiled with -fmad=false: each product and each sum is rounded.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "signal/formats/phase.hpp"

namespace iqd::dsp {

/// a b, in the CPU's order of operations.
__device__ inline float2 product(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// exp(j phase), to float precision.
__device__ inline float2 exact_phasor(Phase phase) {
  double sine, cosine;
  sincospi(static_cast<double>(static_cast<std::int64_t>(phase.turns)) * 0x1p-63, &sine, &cosine);
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

}  // namespace iqd::dsp
