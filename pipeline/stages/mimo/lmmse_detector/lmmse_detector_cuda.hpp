// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/detector.hpp"

namespace iqd::lmmse_detector {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const mimo::DetectorShape& shape);
};

}  // namespace iqd::lmmse_detector
