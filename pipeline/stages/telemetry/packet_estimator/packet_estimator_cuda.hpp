// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"

namespace iqd::packet_estimator {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Pilot& pilot, const Offsets& offsets, std::int64_t most_packets);
};

}  // namespace iqd::packet_estimator
