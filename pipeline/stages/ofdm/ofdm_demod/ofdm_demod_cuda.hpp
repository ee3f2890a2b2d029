// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "signal/formats/ofdm_format.hpp"

namespace iqd::ofdm_demod {

/// What the CUDA backend brings for this stage; `scale`: what the transform is multiplied with.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const OfdmFormat& format, std::int64_t rx, float scale);
};

}  // namespace iqd::ofdm_demod
