// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"

namespace iqd::ofdm_modulator {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// `checks`: [(k + 31) / 32][n - k], of a parity bit the information bits that add up to it, 32 a word, the first the
  /// lowest; empty without a code. `of_bits`: the input are bits.
  std::unique_ptr<StageRun> (*make)(const Frames& frames, std::span<const std::uint32_t> checks, bool of_bits);
};

}  // namespace iqd::ofdm_modulator
