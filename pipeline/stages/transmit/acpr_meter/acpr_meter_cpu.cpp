// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/stages/transmit/acpr_meter/acpr_meter.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::acpr_meter {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Bands::Bands(const Config& config, double rate_hz) {
  std::vector<double> f;
  for (const double hz : config.carriers) f.push_back(hz / rate_hz);
  std::sort(f.begin(), f.end());
  const double width = config.bandwidth / rate_hz;
  const double spacing = config.spacing.value_or(config.bandwidth / 0.9) / rate_hz;
  for (const double middle : f) carriers_.push_back({middle - width / 2, middle + width / 2});
  const double low = f.front(), high = f.back(), apart = high - low;
  set("adjacent_low", low - spacing, width);
  set("adjacent_high", high + spacing, width);
  set("alternate_low", low - 2 * spacing, width);
  set("alternate_high", high + 2 * spacing, width);
  if (apart > 0) {
    set("im3_low", low - apart, width);
    set("im3_high", high + apart, width);
    set("im5_low", low - 2 * apart, width);
    set("im5_high", high + 2 * apart, width);
  }
  set("image_low", -high, width);
  set("image_high", -low, width);
  set("lo", 0, 2 * (WelchSpectrum::kMainLobe + 1) / static_cast<double>(config.size));
}

void Bands::set(std::string_view level, double middle, double width) {
  const Band band{middle - width / 2, middle + width / 2};
  // Bands that touch do not count as overlapping, however their ends are rounded.
  const double touch = 1e-9;
  const bool clear = std::none_of(carriers_.begin(), carriers_.end(), [&](const Band& c) {
    return band.low < c.high - touch && c.low < band.high - touch;
  });
  if (!clear || band.low < -0.5 - touch || band.high > 0.5 + touch) return;
  levels_[static_cast<std::size_t>(std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin())] = band;
}

void Bands::measure(std::span<const double> power, std::span<float, kLevels.size()> levels) const noexcept {
  double carrier = 0;
  for (const Band& band : carriers_) carrier += power_within(band, power) / static_cast<double>(carriers_.size());
  std::fill(levels.begin(), levels.end(), kNone);
  if (!(carrier > 0) || !std::isfinite(carrier)) return;
  levels[0] = decibels(carrier);
  for (std::size_t l = 1; l < levels.size(); ++l)
    if (levels_[l]) levels[l] = decibels(power_within(*levels_[l], power) / carrier);
}

std::size_t Meter::scratch_bytes(std::int64_t size) noexcept {
  Scratch count(nullptr);
  count.take<double>(size);
  count.take_bytes(WelchSpectrum::scratch_bytes(size));
  return count.bytes();
}

std::int64_t Meter::run(std::span<const cf32> x, std::span<float, kLevels.size()> levels, std::span<float> spectrum,
                        std::byte* memory) const noexcept {
  const std::int64_t size = spectrum_.size();
  Scratch scratch(memory);
  const auto power = scratch.take_span<double>(size);
  auto* const rest = scratch.take_bytes(WelchSpectrum::scratch_bytes(size));
  const std::int64_t frames = spectrum_.run(x, average_, power, rest);
  if (frames == 0) return 0;
  bands_.measure(power, levels);
  for (std::size_t k = 0; k < spectrum.size(); ++k) spectrum[k] = decibels(power[k] / spectrum_.peak());
  return frames;
}

}  // namespace iqd::acpr_meter
