// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"

namespace iqd::ldpc_decoder {

inline Job job_of(const StageIo& io) noexcept {
  return {.llr = io.in[0].data,
          .bits = reinterpret_cast<std::uint8_t*>(io.out[kBits].data),
          .iterations = reinterpret_cast<std::int32_t*>(io.out[kIterations].data)};
}

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Setup& setup);
};

}  // namespace iqd::ldpc_decoder
