// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::convert {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// `counted`: as many positions as the input says, instead of those of a stream.
  std::unique_ptr<StageRun> (*make)(Element from, Element to, bool counted);
};

}  // namespace iqd::convert
