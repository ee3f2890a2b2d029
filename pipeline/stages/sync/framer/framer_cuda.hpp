// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/framer/framer.hpp"

namespace iqd::framer {

/// The outputs, in order.
enum Port : std::uint8_t { kBytes, kStart, kLength, kMetric, kTally };

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Plan& plan, std::int64_t most_new);
};

}  // namespace iqd::framer
