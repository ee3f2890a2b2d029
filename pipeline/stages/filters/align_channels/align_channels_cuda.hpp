// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/align_channels/align_channels.hpp"

namespace iqd::align_channels {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// A correction for each channel; `follows`: only while the block says that the source is calibrated.
  std::unique_ptr<StageRun> (*make)(const std::vector<Correction>& channels, bool follows);
};

}  // namespace iqd::align_channels
