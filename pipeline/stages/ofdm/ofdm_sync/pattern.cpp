// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/integer.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

namespace iqd::ofdm_sync {
namespace {

constexpr double kUsualOffset = 4;  // carriers
// A tone is measured at so many grid points to each side at most. So long frames cost no more.
constexpr std::int64_t kMostOthers = 30;
// M may be larger beside a tone than at a frame, so more candidates are asked; Q decides. EVA, 2x2, 20 dB: of 100 frames,
// 100, 100 and 96 are found beside tones of 30, 35 and 38 dB; with all of L to each side 98, 100 and 93.
static_assert(kNearbyBesideTones <= kSteps);
// Of a carrier's mean power. EVA, 2x2, 20 dB, a tone of 30 dB: starts of 100 frames are -4 to 3 samples off with 4, and
// -7 to 3 with 2. Without a limit, a quarter of them are up to 31 samples early.
constexpr float kMostPower = 4;

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
  g.tail = f.tail_samples();
  g.lag = f.fft / 2;
  g.step = g.lag / kSteps;
  g.blocks = (g.lag + g.first_prefix - g.prefix) / g.step;
  g.half = f.frame / 2 / g.step;
  g.nearby = config.reject_tones ? kNearbyBesideTones : kSteps;
  const double spacing = rate_hz / static_cast<double>(f.fft);
  g.sides = static_cast<std::int64_t>((config.max_offset.value_or(kUsualOffset * spacing) / spacing + 1) / 2);
  g.pair_count = static_cast<float>((f.carriers - 2) * f.tx);
  g.width = ceil_div(f.fft, f.carriers);
  g.per_sample = 1 / static_cast<float>(g.blocks * g.step);
  g.half_count = static_cast<float>(g.blocks * g.step * f.carriers) / static_cast<float>(f.fft);
  g.threshold = static_cast<float>(config.threshold);
  g.most_power = std::numeric_limits<float>::infinity();
  if (config.reject_tones) {
    g.others = std::min(f.frame / f.fft, kMostOthers);
    g.apart = g.half / g.others;
    g.most_power = kMostPower * static_cast<float>(f.fft) * static_cast<float>(f.fft) /
                   static_cast<float>(g.blocks * g.step * f.carriers);
  }
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
