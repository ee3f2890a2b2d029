// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "daemon/plot/plots.hpp"

namespace iqd::plot {

inline constexpr double kRate = 1e6;
inline constexpr double kCentre = 433.92e6;

/// A tone at this offset from the centre, 20 dB below full scale, with a little noise.
inline Piece tone(double offset_hz, std::size_t n = 1 << 16) {
  Piece piece;
  piece.rate_hz = kRate;
  piece.frequency_hz = kCentre;
  piece.name = "tone";
  std::vector<cf32>& x = piece.samples.emplace_back();
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    const float noise = (static_cast<float>(random >> 8) / 16777216.0f - 0.5f) * 1e-3f;
    const double phase = 2 * std::numbers::pi * std::fmod(offset_hz / kRate * static_cast<double>(i), 1.0);
    x.emplace_back(static_cast<float>(0.1 * std::cos(phase)) + noise,
                   static_cast<float>(0.1 * std::sin(phase)) - noise);
  }
  return piece;
}

inline Figure figure_of(Kind kind, const Piece& piece, PlotOptions options = {}) {
  const auto plot = make_plot(kind, piece, options);
  plot->add(piece);
  EXPECT_TRUE(plot->has_something());
  return plot->figure();
}

}  // namespace iqd::plot
