// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// The memory layout of a plan's ring, which is mapped twice.
struct RingLayout {
  std::size_t rows = 1;
  std::size_t row_bytes = 0;
  std::size_t seen_twice = 0;  // bytes of the second mapping, of all rows, that windows over the end touch

  std::size_t bytes() const noexcept;  // once
};
/// For at least this many samples. A size that no machine has becomes the largest number.
RingLayout ring_layout(const Plan& plan, std::int64_t samples);

}  // namespace iqd
