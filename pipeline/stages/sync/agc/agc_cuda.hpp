// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/agc/gain.hpp"

namespace iqd::agc {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Gain& gain, std::int64_t most_new);
};

}  // namespace iqd::agc
