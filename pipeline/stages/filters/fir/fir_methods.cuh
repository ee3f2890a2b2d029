// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts of fir's CUDA half.
#pragma once

#include <cuda_runtime_api.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::fir {

struct CudaTaps {
  explicit CudaTaps(std::span<const std::complex<double>> taps) {
    for (const std::complex<double> h : taps) {
      real.push_back(static_cast<float>(h.real()));
      complex.push_back({real.back(), static_cast<float>(h.imag())});
      any_complex = any_complex || h.imag() != 0;
    }
  }

  std::vector<float> real;
  std::vector<float2> complex;
  bool any_complex = false;
};

// Both throw SetupError. Complex taps are for cf32 only: f32 uses the real parts.
std::unique_ptr<StageRun> make_direct_cuda(const CudaTaps& taps, std::int64_t decimation, Element element);
std::unique_ptr<StageRun> make_overlap_save_cuda(std::span<const std::complex<double>> taps, std::int64_t decimation,
                                                 Element element);

}  // namespace iqd::fir
