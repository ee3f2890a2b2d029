// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/peak_finder/peak_finder.hpp"

namespace iqd::peak_finder {

struct CudaSetup {
  float threshold = 0;
  std::int64_t max = 16;
  std::int64_t rows = 1;
  bool bins = false;    // one row of bins a block, else a stream
  bool padded = false;  // always `max` peaks, those that are not there NaN
};

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const CudaSetup& setup);
};

}  // namespace iqd::peak_finder
