// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/squelch/gate.hpp"

namespace iqd::squelch {

enum Port : std::uint8_t { kSamples, kGate, kTally };

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Gate& gate, std::int64_t most_new);
};

}  // namespace iqd::squelch
