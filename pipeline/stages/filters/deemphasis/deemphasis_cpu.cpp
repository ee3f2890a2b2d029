// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/filters/deemphasis/deemphasis.hpp"

namespace iqd::deemphasis {

constexpr double kFaded = 24 * std::numbers::ln2;

Pole::Pole(double tau_s, double rate_hz)
    : step(static_cast<float>(-std::expm1(-1 / (rate_hz * tau_s)))),
      memory(static_cast<std::int64_t>(std::ceil(kFaded * rate_hz * tau_s))) {}

void run_cpu(const Pole& pole, View<const float, 2> x, std::int64_t x_first, View<float, 2> y,
             std::int64_t y_first) noexcept {
  const std::int64_t y_end = y_first + y.extent(1);
  for (std::int64_t r = 0; r < y.extent(0); ++r)
    for (std::int64_t n = y_first; n < y_end;) {
      const std::int64_t end = std::min(y_end, n / Pole::kRun * Pole::kRun + Pole::kRun);
      run_from(x.row(r).data(), x_first, pole.step, pole.memory, n, end, y.row(r).data() + (n - y_first));
      n = end;
    }
}

}  // namespace iqd::deemphasis
