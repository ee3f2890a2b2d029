// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/aph_estimator/setup.hpp"

namespace iqd::aph_estimator {

enum Port : std::uint8_t { kCoefficients, kReport, kEvents };

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Setup& setup);
};

}  // namespace iqd::aph_estimator
