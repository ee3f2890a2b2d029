// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/stage/stage.hpp"

namespace iqd::select_channels {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// `bytes`: of an element, a multiple of 4.
  std::unique_ptr<StageRun> (*make)(const std::vector<std::int64_t>& channels, std::int64_t bytes);
};

}  // namespace iqd::select_channels
