// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

namespace iqd::ofdm_sync {

/// The stage's outputs, in order.
enum Port : std::uint8_t { kFrames, kStart, kOffset, kMetric, kTally };

/// Which of a block's samples count, from its first: what was asked for, though neighbours may have asked for more.
inline Range seen_of(const Grid& grid, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  return {std::max<std::int64_t>(0, io.first_new - grid.past() - in.first),
          std::min(in.length, io.end_new + grid.future() - in.first)};
}

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Pattern& pattern, std::int64_t most_new, Element element);
};

}  // namespace iqd::ofdm_sync
