// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"

namespace iqd::preamble_search {

/// The stage's outputs, in order.
enum Port : std::uint8_t { kWindows, kStart, kMetric, kCorrelation, kTally };

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Pattern& pattern, std::int64_t most_new, Element element);
};

}  // namespace iqd::preamble_search
