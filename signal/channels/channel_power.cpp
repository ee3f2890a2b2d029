// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/channel_power.hpp"

#include <algorithm>

namespace iqd {
namespace {

void add_powers(const cf32* bins, double* power, std::int64_t n) noexcept {
  for (std::int64_t k = 0; k < n; ++k) {
    const double re = bins[k].real(), im = bins[k].imag();
    power[k] += re * re + im * im;
  }
}

}  // namespace

WelchSpectrum::WelchSpectrum(std::int64_t size) : window_(welch_window(size)), plan_(size) {}

std::size_t WelchSpectrum::scratch_bytes(std::int64_t size) noexcept {
  return FftRoom{size, Scratch(nullptr)}.scratch.bytes();
}

std::int64_t WelchSpectrum::run(std::span<const cf32> x, std::int64_t frames, std::span<double> power,
                                std::byte* memory) const noexcept {
  const std::int64_t n = size(), hop = n / 2;
  frames = welch_frames(std::ssize(x), n, frames);
  if (frames == 0) return 0;
  const FftRoom room{n, Scratch(memory)};
  std::fill(power.begin(), power.end(), 0.0);
  for (std::int64_t f = 0; f < frames; ++f) {
    const cf32* const from = x.data() + f * hop;
    const float* const w = window_.values.data();
    for (std::int64_t i = 0; i < n; ++i) room.time[i] = {from[i].real() * w[i], from[i].imag() * w[i]};
    plan_.run(room.time, room.bins);
    add_powers(room.bins, power.data() + n / 2, n - n / 2);
    add_powers(room.bins + (n - n / 2), power.data(), n / 2);
  }
  for (double& p : power) p /= static_cast<double>(frames);
  return frames;
}

double power_within(Band band, std::span<const double> power) noexcept {
  const BandOfBins bins(band, std::ssize(power));
  double sum = 0;
  for (std::int64_t k = bins.begin; k < bins.end; ++k) sum += power[static_cast<std::size_t>(k)] * bins.share(k);
  return sum;
}

}  // namespace iqd
