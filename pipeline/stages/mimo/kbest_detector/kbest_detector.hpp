// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/mimo/detector.hpp"

/// Soft detection with the K best paths. With the sorted QR decomposition H P = Q R and z = Q^H y, each row m of R,
/// from the last to the first, keeps the K continuations (path k, symbol q) with the least
///
///   d(k, q) = d(k) + |z_m - sum over j > m of R_mj s_j(k) - R_mm q|^2
///   LLR = (least d with bit 1 - least d with bit 0) / noise, over the K paths at the end
///
/// LLRs are limited to +-clip, and are +-clip where no path has the other value. Of equal costs the lowest k wins, then
/// the lowest q; the next row's paths are in the order of k and q. Ports and edge values: detector.hpp.
namespace iqd::kbest_detector {

struct Config {
  std::int64_t survivors = 0;
  double clip = 8;

  void fields(FieldVisitor& visitor);
  int paths(int bits) const { return survivors > 0 ? static_cast<int>(survivors) : 1 << bits; }
};

inline constexpr int kMostSurvivors = 256;

std::size_t scratch_bytes(const mimo::DetectorShape& shape, const Config& config);
/// Fills llr, hard and distance of the job, and returns the number of erased vectors.
std::int64_t run_cpu(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const mimo::DetectorShape& shape, const Config& config);

}  // namespace iqd::kbest_detector
