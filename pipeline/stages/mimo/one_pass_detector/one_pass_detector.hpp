// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/mimo/detector.hpp"

/// Soft detection by a single pass through the trellis that mtt_detector traverses several times. With the sorted QR
/// decomposition H P = Q R and z = Q^H y, each row m of R, from the last to the first, keeps
///
///   for each symbol q the path k of the row before with the least
///     d(k) + |z_m - sum over j > m of R_mj s_j(k) - R_mm q|^2
///   LLR = (least d with bit 1 - least d with bit 0) / noise, over the paths at the end
///
/// LLRs are limited to +-clip, and are +-clip where no path has the other value. Of equal costs the lowest k wins.
/// Ports and edge values: detector.hpp.
namespace iqd::one_pass_detector {

struct Config {
  double clip = 8;

  void fields(FieldVisitor& visitor);
};

std::size_t scratch_bytes(const mimo::DetectorShape& shape);
/// Fills llr, hard and distance of the job, and returns the number of erased vectors.
std::int64_t run_cpu(const mimo::DetectorShape& shape, float clip, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const mimo::DetectorShape& shape, float clip);

}  // namespace iqd::one_pass_detector
