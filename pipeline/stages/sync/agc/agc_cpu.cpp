// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/agc/agc.hpp"

namespace iqd::agc {

void run_cpu(const Gain& gain, View<const cf32, 2> x, std::int64_t first, View<cf32, 2> y, std::int64_t out_first,
             double* scratch) noexcept {
  const Positions there{first, first + x.extent(1)};
  for (std::int64_t r = 0; r < y.extent(0); ++r) {
    const cf32* const row = x.row(r).data();
    const auto power = [&](std::int64_t n) {
      return there.has(n) ? dsp::power_of(row[n - first].real(), row[n - first].imag()) : 0.0;
    };
    const std::int64_t begin = gain.begin(out_first);
    dsp::moving_sums(gain.window, begin, begin + y.extent(1), scratch, power, [&](std::int64_t from, double energy) {
      const std::int64_t n = out_first + from - begin;
      y(r, from - begin) = row[n - first] * gain.at(n, there, energy);
    });
  }
}

}  // namespace iqd::agc
