// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "signal/filters/windows.hpp"

namespace iqd {

/// Windowed-sinc filters by the formulas of GNU Radio's firdes, in double precision. A low pass of n taps is w(i)
/// sin((i-M) c)/((i-M) pi), M = (n-1)/2, c = 2 pi cutoff/rate; the others are derived from it:
/// high pass = delta - low pass, band pass = low pass(high) - low pass(low), band reject = delta - band pass.
/// All are symmetric and of odd length. They are scaled to a response of `gain` at 0 Hz (low pass, band reject), at
/// rate/2 (high pass) or at the centre of the band (band pass).
struct FilterWindow {
  Window type = Window::hamming;
  double beta = kKaiserBeta;  // of a Kaiser window
};

/// Stop-band attenuation of the window, in dB.
double attenuation_of(const FilterWindow& window);
/// The beta of a Kaiser window for this attenuation (J. Kaiser's formula).
double kaiser_beta(double attenuation_db);
/// Number of taps for a transition band: int(A rate / (22 transition)), made odd.
std::int64_t tap_count(double attenuation_db, double transition_hz, double rate_hz);

std::vector<double> low_pass(double cutoff_hz, double rate_hz, std::int64_t taps, const FilterWindow& window,
                             double gain = 1);
std::vector<double> high_pass(double cutoff_hz, double rate_hz, std::int64_t taps, const FilterWindow& window,
                              double gain = 1);
std::vector<double> band_pass(double low_hz, double high_hz, double rate_hz, std::int64_t taps,
                              const FilterWindow& window, double gain = 1);
std::vector<double> band_reject(double low_hz, double high_hz, double rate_hz, std::int64_t taps,
                                const FilterWindow& window, double gain = 1);
/// Root raised cosine with roll-off alpha in 0 … 1. `taps` is made odd; the taps sum to `gain`. Within 1e-6 of t = 0
/// and |4 alpha t| = 1 the limits are used.
std::vector<double> root_raised_cosine(double symbol_rate_hz, double rate_hz, double alpha, std::int64_t taps,
                                       double gain = 1);

/// The amplitude of a symmetric filter of odd length at a frequency; negative where the phase is inverted.
double response_at(std::span<const double> taps, double frequency_hz, double rate_hz);

}  // namespace iqd
