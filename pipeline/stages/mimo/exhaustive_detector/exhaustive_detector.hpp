// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/stages/mimo/detector.hpp"

/// Soft detection that tries all combinations of symbols: the reference for the others, exact but for the max-log form.
///
///   LLR = (min over s with bit 1 of |y - H s|^2 - min over s with bit 0 of |y - H s|^2) / noise
///
/// Ports and edge values: detector.hpp.
namespace iqd::exhaustive_detector {

/// Of all transmit antennas together: 2^16 combinations take some 3 us a vector.
inline constexpr int kMostBits = 16;

std::size_t scratch_bytes();
/// Fills llr, hard and distance of the job, and returns the number of erased vectors.
std::int64_t run_cpu(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                     std::byte* memory) noexcept;

}  // namespace iqd::exhaustive_detector
