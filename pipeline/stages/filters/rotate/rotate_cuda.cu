// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include "pipeline/stages/filters/rotate/rotate.hpp"
#include "pipeline/stages/map_run.cuh"

namespace iqd::rotate {

using Run = dsp::MapRun<Turn, dsp::Index::in_stream>;

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::rotate
