// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/acpr_meter/acpr_meter.hpp"

namespace iqd::acpr_meter {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Bands& bands, std::int64_t size, std::int64_t average);
};

}  // namespace iqd::acpr_meter
