// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/soqpsk_detector/soqpsk_detector.hpp"

namespace iqd::soqpsk_detector {

/// Where a block's results go.
inline Results results_of(std::span<const PortIo> out, LlrForm llr) noexcept {
  Results to;
  to.bits = reinterpret_cast<std::uint8_t*>(out[0].data);
  to.soft = reinterpret_cast<float*>(out[1].data);
  if (llr == LlrForm::f32) to.llr = reinterpret_cast<float*>(out[2].data);
  if (llr == LlrForm::i8) to.whole_llr = reinterpret_cast<std::int8_t*>(out[2].data);
  return to;
}

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Setup& setup, LlrForm llr);
};

}  // namespace iqd::soqpsk_detector
