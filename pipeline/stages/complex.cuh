// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers in device code, as float2. Compiled with -fmad=false: each product and each sum is rounded.
#pragma once

#include <cuda_runtime_api.h>

namespace iqd::dsp {

/// a b, in the CPU's order of operations.
__device__ inline float2 product(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

}  // namespace iqd::dsp
