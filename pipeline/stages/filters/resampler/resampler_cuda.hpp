// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"
#include "signal/filters/polyphase.hpp"

namespace iqd::resampler {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const PolyphaseTaps& taps, Element element);
};

}  // namespace iqd::resampler
