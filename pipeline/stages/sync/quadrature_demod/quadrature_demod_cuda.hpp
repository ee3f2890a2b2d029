// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"

namespace iqd::quadrature_demod {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(float gain);
};

}  // namespace iqd::quadrature_demod
