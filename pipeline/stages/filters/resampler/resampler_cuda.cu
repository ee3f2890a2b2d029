// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/polyphase.cuh"
#include "pipeline/stages/filters/resampler/resampler.hpp"

namespace iqd::resampler {

IQD_CUDA_HALF(dsp::make_polyphase_run)

}  // namespace iqd::resampler
