// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/bin_axis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace iqd::live {
namespace {

std::vector<double> offsets_of(const Dim& bins) {
  const Frequencies& of = bins.frequencies;
  if (std::ssize(of.values_hz) == bins.extent) return of.values_hz;
  std::vector<double> offsets;
  for (std::int64_t k = 0; k < bins.extent; ++k) {
    const std::int64_t turn = of.wrap > 0 && k >= of.wrap ? bins.extent : 0;
    offsets.push_back(of.first_hz + of.step_hz * static_cast<double>(k - turn));
  }
  return offsets;
}

}  // namespace

BinAxis::BinAxis(const Dim& bins) : is_hz_(bins.frequencies.known()), span_(static_cast<double>(bins.extent)) {
  if (!is_hz_) return;
  const std::vector<double> offsets = offsets_of(bins);
  const auto [low, high] = std::ranges::minmax(offsets);
  const double step = bins.extent > 1 ? (high - low) / static_cast<double>(bins.extent - 1)
                                      : std::max(std::fabs(bins.frequencies.step_hz), 1.0);
  first_ = low - step / 2;
  span_ = step * static_cast<double>(bins.extent);
  if (std::ranges::is_sorted(offsets)) return;
  order_.resize(offsets.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::stable_sort(order_, {}, [&](std::uint32_t k) { return offsets[k]; });
}

std::span<const float> BinAxis::sorted(std::span<const float> values, std::vector<float>& into) const {
  if (order_.empty()) return values;
  into.clear();
  for (const std::uint32_t k : order_) into.push_back(values[k]);
  return into;
}

}  // namespace iqd::live
