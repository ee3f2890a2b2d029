// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/stages/ofdm/ofdm_demod/ofdm_demod.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::ofdm_demod {
namespace {

/// Scales and interleaves the bins of all antennas: to[i][r] = scale bins[r][i].
void weave(const cf32* bins, std::int64_t pitch, std::int64_t rx, float scale, cf32* to, std::int64_t count) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t r = 0; r < rx; ++r) {
      const cf32 y = bins[r * pitch + i];
      const float re = y.real() * scale, im = y.imag() * scale;
      const bool finite = (re - re) + (im - im) == 0;
      to[i * rx + r] = finite ? cf32(re, im) : cf32(kNan, kNan);
    }
}

}  // namespace

float scale_of(const OfdmFormat& format) noexcept {
  return static_cast<float>(std::sqrt(static_cast<double>(format.carriers)) / static_cast<double>(format.fft));
}

Demodulator::Demodulator(const OfdmFormat& format, std::int64_t rx)
    : format_(format), rx_(rx), scale_(scale_of(format)), plan_(format.fft) {}

std::size_t Demodulator::scratch_bytes(const OfdmFormat& format, std::int64_t rx) noexcept {
  Scratch count(nullptr);
  count.take<cf32>(format.fft);
  count.take<cf32>(format.fft * rx);
  return count.bytes();
}

void Demodulator::run(const cf32* frames, std::int64_t count, cf32* carriers, std::byte* memory) const noexcept {
  Scratch scratch(memory);
  cf32* const samples = scratch.take<cf32>(format_.fft);
  cf32* const bins = scratch.take<cf32>(format_.fft * rx_);
  const std::int64_t half = format_.carriers / 2, symbols = format_.symbols();
  const std::int64_t length = format_.frame + format_.tail_samples();
  for (std::int64_t frame = 0; frame < count; ++frame, frames += rx_ * length)
    for (std::int64_t s = 0; s < symbols + format_.tail_symbols(); ++s, carriers += format_.carriers * rx_) {
      const std::int64_t own = s < symbols ? format_.begin_of(s) : format_.frame + format_.begin_of(s - symbols);
      const std::int64_t begin = own - format_.early();
      for (std::int64_t r = 0; r < rx_; ++r) {
        std::copy_n(frames + r * length + begin, format_.fft, samples);
        plan_.run(samples, bins + r * format_.fft);
      }
      weave(bins + format_.fft - half, format_.fft, rx_, scale_, carriers, half);
      weave(bins + 1, format_.fft, rx_, scale_, carriers + half * rx_, half);
    }
}

}  // namespace iqd::ofdm_demod
