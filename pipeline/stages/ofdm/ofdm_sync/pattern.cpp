// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "base/integer.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

namespace iqd::ofdm_sync {
namespace {

constexpr double kUsualOffset = 4;  // carriers

Grid grid_of(const Config& config, double rate_hz, std::int64_t antennas) {
  const OfdmFormat& f = config.format;
  Grid g{};
  g.antennas = antennas;
  g.tx = f.tx;
  g.fft = f.fft;
  g.prefix = f.prefix;
  g.first_prefix = f.first_prefix();
  g.symbol = f.symbol();
  g.symbols = f.symbols();
  g.frame = f.frame;
  g.lag = f.fft / 2;
  g.step = g.lag / kSteps;
  g.blocks = (g.lag + g.first_prefix - g.prefix) / g.step;
  g.half = f.frame / 2 / g.step;
  const double spacing = rate_hz / static_cast<double>(f.fft);
  g.sides = static_cast<std::int64_t>((config.max_offset.value_or(kUsualOffset * spacing) / spacing + 1) / 2);
  g.pair_count = static_cast<float>((f.carriers - 2) * f.tx);
  g.width = ceil_div(f.fft, f.carriers);
  g.per_sample = 1 / static_cast<float>(g.blocks * g.step);
  g.half_count = static_cast<float>(g.blocks * g.step * f.carriers) / static_cast<float>(f.fft);
  g.threshold = static_cast<float>(config.threshold);
  g.rate_hz = rate_hz;
  return g;
}

}  // namespace

Pattern::Pattern(const Config& config, double rate_hz, std::int64_t antennas)
    : grid(grid_of(config, rate_hz, antennas)),
      pairs(static_cast<std::size_t>(grid.fft)),
      training(static_cast<std::size_t>(grid.fft)) {
  const OfdmFormat& f = config.format;
  const OfdmReference reference(f);
  const auto signs = reference.training();
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const auto bin = static_cast<std::size_t>(f.bin_of(c));
    const double place = static_cast<double>(f.frequency_of(c)) / static_cast<double>(f.carriers + 2);
    training[bin] =
        signs[static_cast<std::size_t>(c)] * static_cast<float>(0.5 + 0.5 * std::cos(2 * std::numbers::pi * place));
    const bool next = c + 1 < f.carriers && f.frequency_of(c + 1) == f.frequency_of(c) + 1;
    if (next) pairs[bin] = signs[static_cast<std::size_t>(c)] * signs[static_cast<std::size_t>(c + 1)];
  }
}

}  // namespace iqd::ofdm_sync
