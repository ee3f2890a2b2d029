// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

namespace iqd::spectrum {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Config& config, std::int64_t rows);
};

}  // namespace iqd::spectrum
