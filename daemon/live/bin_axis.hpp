// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/shape.hpp"

namespace iqd::live {

/// Where the bins of a dimension lie: as offsets in Hz from the port's frequency, from edge to edge, and in which order
/// they come from the lowest to the highest frequency. Without known frequencies bin k reaches from k to k + 1.
class BinAxis {
 public:
  explicit BinAxis(const Dim& bins);
  bool is_hz() const noexcept { return is_hz_; }
  double first() const noexcept { return first_; }
  double span() const noexcept { return span_; }
  /// The values in this order; the same ones if they are already.
  std::span<const float> sorted(std::span<const float> values, std::vector<float>& into) const;

 private:
  bool is_hz_;
  double first_ = 0;
  double span_ = 0;
  std::vector<std::uint32_t> order_;  // empty: as they come
};

}  // namespace iqd::live
