// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/signal_source/signal_source.hpp"

namespace iqd::signal_source {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(Waveform waveform, const Oscillation& oscillation, Element element);
};

}  // namespace iqd::signal_source
