// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"

namespace iqd::mtt_detector {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const mimo::DetectorShape& shape, const Config& config);
};

}  // namespace iqd::mtt_detector
