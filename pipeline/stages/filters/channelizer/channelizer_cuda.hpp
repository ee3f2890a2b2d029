// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "pipeline/stage/stage.hpp"

namespace iqd::channelizer {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
                                    std::span<const std::int64_t> select);
};

}  // namespace iqd::channelizer
