// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "base/views.hpp"

namespace iqd {

enum class Window : std::uint8_t { rectangular, hann, hamming, blackman, blackman_harris, kaiser };

inline constexpr std::array<std::string_view, 6> kWindowNames{"rectangular",     "hann",  "hamming", "blackman",
                                                              "blackman_harris", "kaiser"};
inline std::span<const std::string_view> enum_names(Window) {
  return kWindowNames;
}

/// The default beta of Kaiser windows: 70 dB of stop-band attenuation.
inline constexpr double kKaiserBeta = 6.76;

/// The modified Bessel function I0; |x| below 700.
IQD_HOST_DEVICE inline double bessel_i0(double x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; term > sum * 1e-18; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

/// w(i), i = 0 … n-1, of a symmetric window: w(i) = w(n-1-i), the denominator is n-1, the centre of an odd one is 1
/// (for Blackman-Harris: within 1e-15). A window of one sample is 1.
inline double window_at(Window window, std::int64_t i, std::int64_t n, double beta = kKaiserBeta) {
  if (n <= 1) return 1;
  const double at = static_cast<double>(i) / static_cast<double>(n - 1);
  const auto cosine = [at](int harmonic) { return std::cos(2 * std::numbers::pi * harmonic * at); };
  switch (window) {
    case Window::rectangular: return 1;
    case Window::hann: return 0.5 - 0.5 * cosine(1);
    case Window::hamming: return 0.54 - 0.46 * cosine(1);
    case Window::blackman: return 0.42 - 0.5 * cosine(1) + 0.08 * cosine(2);
    case Window::blackman_harris: return 0.35875 - 0.48829 * cosine(1) + 0.14128 * cosine(2) - 0.01168 * cosine(3);
    case Window::kaiser: break;
  }
  const double off = 2 * at - 1;
  return bessel_i0(beta * std::sqrt(std::fmax(0, 1 - off * off))) / bessel_i0(beta);
}

inline std::vector<double> make_window(Window window, std::int64_t n, double beta = kKaiserBeta) {
  std::vector<double> w(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i)] = window_at(window, i, n, beta);
  return w;
}

}  // namespace iqd
