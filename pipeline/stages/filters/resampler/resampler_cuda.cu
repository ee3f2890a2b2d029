// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/polyphase.cuh"
#include "pipeline/stages/filters/resampler/resampler_cuda.hpp"

namespace iqd::resampler {

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{dsp::make_polyphase_run};
  return &half;
}

}  // namespace iqd::resampler
