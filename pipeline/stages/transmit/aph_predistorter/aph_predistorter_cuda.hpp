// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"

namespace iqd::aph_predistorter {

enum Port : std::uint8_t { kOut, kPeak, kTally };

/// What a block is predistorted with. `clip` is infinite where there is none.
struct Setup {
  Model model;
  float clip = 0;
  Element in = Element::cf32;
  Element out = Element::cf32;
  Variant variant = Variant::own;
  std::int64_t most_new = 1;
};

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Setup& setup);
};

}  // namespace iqd::aph_predistorter
