// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/fold.hpp"

#include <cmath>
#include <limits>

namespace iqd::live {
namespace {

template <class OfGroup> void for_groups(std::size_t values, std::span<float> into, OfGroup of_group) {
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = of_group(i * values / into.size(), (i + 1) * values / into.size());
}

}  // namespace

void fold_largest(std::span<const float> values, std::span<float> into) noexcept {
  for_groups(values.size(), into, [&](std::size_t from, std::size_t to) {
    float most = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t k = from; k < to; ++k) most = std::fmax(most, values[k]);
    return most;
  });
}

void fold_mean_db(std::span<const float> db, std::span<float> into) noexcept {
  constexpr float kLog2Of10 = 3.3219281F;
  for_groups(db.size(), into, [&](std::size_t from, std::size_t to) {
    float power = 0;
    float count = 0;
    for (std::size_t k = from; k < to; ++k) {
      if (std::isnan(db[k])) continue;
      power += std::exp2(db[k] / 10 * kLog2Of10);
      ++count;
    }
    return 10 * std::log10(power / count);
  });
}

void to_db(std::span<float> powers) noexcept {
  for (float& x : powers) x = 10 * std::log10(x);
}

}  // namespace iqd::live
