// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "base/element.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/fir/fir.hpp"
#include "signal/filters/polyphase.hpp"

namespace iqd::fir {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// Complex taps are for cf32 only: for f32 the real parts count.
  std::unique_ptr<StageRun> (*make)(std::span<const std::complex<double>> taps, const Config& config, Element element);
  /// Where it interpolates.
  std::unique_ptr<StageRun> (*make_polyphase)(const PolyphaseTaps& taps, Element element);
};

}  // namespace iqd::fir
