// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd::plot {
namespace {

/// The smallest of 1, 2 and 5 times a power of ten that is not below `value`.
double round_up(double value) {
  const double decade = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= value * (1 - 1e-9)) return factor * decade;
  return 10 * decade;
}

int digits_for(double step) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
}

}  // namespace

std::vector<Tick> ticks_of(const Scale& scale, int most) {
  std::vector<Tick> all;
  const double first = std::min(scale.low, scale.high), last = std::max(scale.low, scale.high);
  const double span = last - first;
  if (!(span > 0) || !std::isfinite(span) || most < 1) return all;
  const double step = round_up(span / most);
  const int digits = digits_for(step);
  for (double i = std::ceil(first / step - 1e-6); i * step <= last + step * 1e-6; ++i)
    all.push_back({i * step, fmt::format("{:.{}f}", i == 0 ? 0.0 : i * step, digits)});
  return all;
}

FrequencyUnit frequency_unit(double hz) {
  if (hz >= 1e6) return {1e6, "MHz"};
  if (hz >= 1e3) return {1e3, "kHz"};
  return {};
}

std::string frequency_text(double hz, double resolution_hz) {
  const FrequencyUnit unit = frequency_unit(std::fabs(hz));
  const int digits = resolution_hz > 0 ? digits_for(resolution_hz / 10 / unit.hz) : 3;
  return fmt::format("{:.{}f} {}", hz / unit.hz, digits, unit.name);
}

double share_of(const Scale& scale, double value) {
  const double share = (value - scale.low) / (scale.high - scale.low);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
}

}  // namespace iqd::plot
