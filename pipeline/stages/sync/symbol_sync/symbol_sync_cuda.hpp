// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/symbol_sync/symbol_sync.hpp"

namespace iqd::symbol_sync {

enum Port : std::uint8_t { kSymbols, kEstimates };

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Synchronizer& synchronizer, std::int64_t most_new);
};

}  // namespace iqd::symbol_sync
