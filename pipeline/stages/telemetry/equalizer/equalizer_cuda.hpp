// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"

namespace iqd::equalizer {

/// What the CUDA backend brings for this stage. Ports: in 0 windows, 1 channel, 2 noise; out 0 symbols, 1 taps.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Setup& setup);
};

}  // namespace iqd::equalizer
