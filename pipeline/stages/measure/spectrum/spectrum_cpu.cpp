// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/stages/measure/spectrum/spectrum.hpp"

namespace iqd::spectrum {

Spectrum::Spectrum(const Config& config) : average_(config.average), plan_(config.size) {
  const std::vector<double> w = make_window(config.window, config.size, config.beta);
  window_.assign(w.begin(), w.end());
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  reference_ = sum * sum;
}

std::size_t Spectrum::scratch_bytes(std::int64_t size) noexcept {
  FftRoom room{size, Scratch(nullptr)};
  room.scratch.take<double>(size);
  return room.scratch.bytes();
}

std::int64_t Spectrum::run(View<const cf32, 2> x, std::int64_t x_first, std::int64_t begin, std::int64_t end,
                           View<float, 2> y, std::byte* memory) const noexcept {
  FftRoom room{size(), Scratch(memory)};
  double* const power = room.scratch.take<double>(size());
  const std::int64_t first = (begin + size() - 1) / size();
  const std::int64_t whole = std::max<std::int64_t>(end / size() - first, 0);
  const std::int64_t frames = average_ > 0 ? std::min(average_, whole) : whole;
  for (std::int64_t row = 0; frames > 0 && row < y.extent(0); ++row) {
    std::fill_n(power, size(), 0.0);
    for (std::int64_t f = first; f < first + frames; ++f)
      add(&x(row, f * size() - x_first), room.time, room.bins, power);
    write(power, frames, &y(row, 0));
  }
  return frames;
}

void Spectrum::add(const cf32* x, cf32* time, cf32* bins, double* power) const noexcept {
  for (std::int64_t n = 0; n < size(); ++n) time[n] = {x[n].real() * window_[n], x[n].imag() * window_[n]};
  plan_.run(time, bins);
  for (std::int64_t k = 0; k < size(); ++k) {
    const double re = bins[k].real();
    const double im = bins[k].imag();
    power[k] += re * re + im * im;
  }
}

void Spectrum::write(const double* power, std::int64_t frames, float* y) const noexcept {
  const double scale = 1 / (reference_ * static_cast<double>(frames));
  const double least = std::pow(10.0, kFloorDb / 10.0);
  const std::int64_t middle = size() / 2;
  for (std::int64_t k = 0; k < size(); ++k) {
    const double p = power[k] * scale;
    const double db = p < least ? kFloorDb : 10 * std::log10(p);
    y[(k + middle) % size()] = static_cast<float>(db);
  }
}

}  // namespace iqd::spectrum
