// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/mimo/detector.hpp"

/// Soft linear detection: for every antenna t the minimum-mean-square-error (MMSE) estimate, made unbiased, and LLRs
/// from its distance to the symbols, each axis separately:
///
///   x = (H^H H + N I)^-1 H^H y,  e_t = N ((H^H H + N I)^-1)_tt,  mu = 1 - e_t,  SINR = mu / e_t
///   LLR = SINR (min over s with bit 1 of |x_t / mu - s|^2 - min over s with bit 0 of |x_t / mu - s|^2)
///
/// Ports and edge values: detector.hpp. An antenna that is not received gets LLRs of 0. The distance is that of the
/// symbols nearest to x / mu.
namespace iqd::lmmse_detector {

std::size_t scratch_bytes();
/// Fills llr, hard and distance of the job, and returns the number of erased vectors.
std::int64_t run_cpu(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                     std::byte* memory) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const mimo::DetectorShape& shape);

}  // namespace iqd::lmmse_detector
