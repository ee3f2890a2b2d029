// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/mimo/detector.hpp"

/// Soft detection by multi-pass trellis traversal. With the sorted QR decomposition H P = Q R and yh = Q^H y, stage t
/// of the trellis is row m = tx - 1 - t of R; its vertices are the points of the constellation. The survivors S_t are
/// one path per vertex of row m:
///
///   S_0: d(q) = |yh_m - R_mm q|^2
///   S_t: for each vertex q the path k of S_t-1 with the least d(k) + |delta_k - R_mm q|^2
///   L_t: each survivor of S_t continues over the rows below, at each row to the point of least cost
///   LLR = (least d with bit 1 - least d with bit 0) / noise, of antenna perm[m] over L_t, or over all lists (`pooled`)
///
/// Ports and edge values: detector.hpp. For two transmit antennas it is exact (max-log).
namespace iqd::mtt_detector {

enum class Lists : std::uint8_t { own, pooled };
inline std::span<const std::string_view> enum_names(Lists) {
  static constexpr std::string_view names[] = {"own", "pooled"};
  return names;
}
enum class Variant : std::uint8_t { fast, paper };
inline std::span<const std::string_view> enum_names(Variant) {
  static constexpr std::string_view names[] = {"fast", "paper"};
  return names;
}

struct Config {
  Lists lists = Lists::own;
  Variant variant = Variant::fast;

  void fields(FieldVisitor& visitor);
};

std::size_t scratch_bytes(const mimo::DetectorShape& shape);
/// Fills llr, hard and distance of the job, and returns the number of erased vectors.
std::int64_t run_cpu(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const mimo::DetectorShape& shape, const Config& config);
/// Its part for 256-QAM.
CudaHalf make_256qam_run;

}  // namespace iqd::mtt_detector
