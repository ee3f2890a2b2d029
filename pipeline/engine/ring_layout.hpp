// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// How a plan's ring lies in memory, which is mapped twice.
struct RingLayout {
  std::size_t rows = 1;
  std::size_t row_bytes = 0;
  std::size_t seen_twice = 0;  // of all rows: what windows that run over the end touch of the second mapping

  std::size_t bytes() const noexcept;  // once
};
/// For so many samples at least. What no machine has comes out as the largest number.
RingLayout ring_layout(const Plan& plan, std::int64_t samples);

}  // namespace iqd
