// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/filter_design.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace iqd {
namespace {

constexpr double kPi = std::numbers::pi;

/// delta_weight * delta + sum of weight * low pass, windowed.
struct Band {
  double edge_hz;
  double weight;
};

std::vector<double> windowed(double delta_weight, std::span<const Band> bands, double rate_hz, std::int64_t taps,
                             const FilterWindow& window) {
  const std::int64_t middle = (taps - 1) / 2;
  std::vector<double> h(static_cast<std::size_t>(taps));
  for (std::int64_t i = 0; i < taps; ++i) {
    const auto n = static_cast<double>(i - middle);
    double sum = i == middle ? delta_weight : 0;
    for (const Band& b : bands) {
      const double c = 2 * kPi * b.edge_hz / rate_hz;
      sum += b.weight * (i == middle ? c / kPi : std::sin(n * c) / (n * kPi));
    }
    h[static_cast<std::size_t>(i)] = sum * window_at(window.type, i, taps, window.beta);
  }
  return h;
}

std::vector<double> scaled(std::vector<double> h, double factor) {
  for (double& x : h) x *= factor;
  return h;
}

/// (sin(pi t (1-a)) + 4 a t cos(pi t (1+a))) / (pi t (1 - (4 a t)^2)), t in symbols.
double root_raised_cosine_at(double t, double a) {
  if (t == 0) return 1 - a + 4 * a / kPi;
  const double pole = 1 - 16 * a * a * t * t;
  if (std::fabs(pole) >= 1e-6)
    return (std::sin(kPi * t * (1 - a)) + 4 * a * t * std::cos(kPi * t * (1 + a))) / (kPi * t * pole);
  const double angle = kPi / (4 * a);
  return a / std::numbers::sqrt2 * ((1 + 2 / kPi) * std::sin(angle) + (1 - 2 / kPi) * std::cos(angle));
}

}  // namespace

double attenuation_of(const FilterWindow& window) {
  switch (window.type) {
    case Window::rectangular: return 21;
    case Window::hann: return 44;
    case Window::hamming: return 53;
    case Window::blackman: return 74;
    case Window::blackman_harris: return 92;
    case Window::kaiser: break;
  }
  return window.beta / 0.1102 + 8.7;
}

double kaiser_beta(double attenuation_db) {
  if (attenuation_db > 50) return 0.1102 * (attenuation_db - 8.7);
  if (attenuation_db < 21) return 0;
  return 0.5842 * std::pow(attenuation_db - 21, 0.4) + 0.07886 * (attenuation_db - 21);
}

std::int64_t tap_count(double attenuation_db, double transition_hz, double rate_hz) {
  return static_cast<std::int64_t>(attenuation_db * rate_hz / (22 * transition_hz)) | 1;
}

std::vector<double> low_pass(double cutoff_hz, double rate_hz, std::int64_t taps, const FilterWindow& window,
                             double gain) {
  const Band bands[] = {{cutoff_hz, 1}};
  std::vector<double> h = windowed(0, bands, rate_hz, taps | 1, window);
  const double factor = gain / response_at(h, 0, rate_hz);
  return scaled(std::move(h), factor);
}

std::vector<double> high_pass(double cutoff_hz, double rate_hz, std::int64_t taps, const FilterWindow& window,
                              double gain) {
  const Band bands[] = {{cutoff_hz, -1}};
  std::vector<double> h = windowed(1, bands, rate_hz, taps | 1, window);
  const double factor = gain / response_at(h, rate_hz / 2, rate_hz);
  return scaled(std::move(h), factor);
}

std::vector<double> band_pass(double low_hz, double high_hz, double rate_hz, std::int64_t taps,
                              const FilterWindow& window, double gain) {
  const Band bands[] = {{high_hz, 1}, {low_hz, -1}};
  std::vector<double> h = windowed(0, bands, rate_hz, taps | 1, window);
  const double factor = gain / response_at(h, (low_hz + high_hz) / 2, rate_hz);
  return scaled(std::move(h), factor);
}

std::vector<double> band_reject(double low_hz, double high_hz, double rate_hz, std::int64_t taps,
                                const FilterWindow& window, double gain) {
  const Band bands[] = {{high_hz, -1}, {low_hz, 1}};
  std::vector<double> h = windowed(1, bands, rate_hz, taps | 1, window);
  const double factor = gain / response_at(h, 0, rate_hz);
  return scaled(std::move(h), factor);
}

std::vector<double> root_raised_cosine(double symbol_rate_hz, double rate_hz, double alpha, std::int64_t taps,
                                       double gain) {
  taps |= 1;
  std::vector<double> h(static_cast<std::size_t>(taps));
  double sum = 0;
  for (std::int64_t i = 0; i < taps; ++i) {
    const double t = static_cast<double>(i - taps / 2) * symbol_rate_hz / rate_hz;
    sum += h[static_cast<std::size_t>(i)] = root_raised_cosine_at(t, alpha);
  }
  return scaled(std::move(h), gain / sum);
}

double response_at(std::span<const double> taps, double frequency_hz, double rate_hz) {
  const std::size_t middle = taps.size() / 2;
  double sum = taps[middle];
  for (std::size_t n = 1; n <= middle; ++n)
    sum += 2 * taps[middle + n] * std::cos(2 * kPi * frequency_hz / rate_hz * static_cast<double>(n));
  return sum;
}

}  // namespace iqd
