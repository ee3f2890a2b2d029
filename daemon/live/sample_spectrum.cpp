// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/sample_spectrum.hpp"

#include <numeric>

#include "signal/filters/windows.hpp"

namespace iqd::live {
namespace {

/// The window of fewer samples is nearly 0 everywhere.
constexpr std::int64_t kFewestForWindow = 4;

std::vector<float> window_of(std::int64_t size) {
  const std::vector<double> w =
      make_window(size < kFewestForWindow ? Window::rectangular : Window::blackman_harris, size);
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  std::vector<float> scaled;
  for (const double x : w) scaled.push_back(static_cast<float>(x / sum));
  return scaled;
}

}  // namespace

SampleSpectrum::SampleSpectrum(std::int64_t size)
    : plan_(size, FftPlan::Direction::forward, 1, FftPlan::Algorithm::repeatable),
      window_(window_of(size)),
      scratch_(FftRoom{size, Scratch(nullptr)}.scratch.bytes()),
      powers_(static_cast<std::size_t>(size)) {}

std::span<const float> SampleSpectrum::powers(std::span<const cf32> samples, bool mirrored) noexcept {
  const FftRoom room{size(), Scratch(scratch_.data())};
  for (std::size_t n = 0; n < window_.size(); ++n) room.time[n] = samples[n] * window_[n];
  plan_.run(room.time, room.bins);
  const auto bins = static_cast<std::size_t>(size());
  for (std::size_t k = 0; k < bins; ++k) {
    const std::size_t place = (k + bins / 2) % bins;
    powers_[mirrored ? bins - 1 - place : place] = std::norm(room.bins[k]);
  }
  return powers_;
}

std::span<const cf32> as_cf32(Element element, const std::byte* samples, std::int64_t count, std::vector<cf32>& into) {
  const auto n = static_cast<std::size_t>(count);
  if (element == Element::cf32) return {reinterpret_cast<const cf32*>(samples), n};
  const auto* const from = reinterpret_cast<const sc16*>(samples);
  into.resize(n);
  for (std::size_t i = 0; i < n; ++i) into[i] = cf32(from[i].re, from[i].im) / 32768.0F;
  return into;
}

}  // namespace iqd::live
