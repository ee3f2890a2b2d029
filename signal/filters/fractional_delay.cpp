// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/fractional_delay.hpp"

#include <cmath>
#include <numbers>

#include "signal/filters/windows.hpp"

namespace iqd {
namespace {

double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return std::fabs(angle) < 1e-9 ? 1 : std::sin(angle) / angle;
}

/// Kaiser window around 0 that ends at ±half.
double window(double x, double half, double beta) {
  const double off = x / half;
  return off * off >= 1 ? 0 : bessel_i0(beta * std::sqrt(1 - off * off)) / bessel_i0(beta);
}

}  // namespace

std::vector<float> fractional_delay(double fraction, std::int64_t taps, double beta) {
  const auto half = static_cast<double>(taps) / 2;
  std::vector<double> h;
  double sum = 0;
  for (std::int64_t q = 0; q < taps; ++q) {
    const double x = fraction - (half - static_cast<double>(q));
    h.push_back(sinc(x) * window(x, half, beta));
    sum += h.back();
  }
  std::vector<float> scaled;
  for (const double v : h) scaled.push_back(static_cast<float>(v / sum));
  return scaled;
}

}  // namespace iqd
