// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/tone.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace iqd::sim {
namespace {

constexpr std::int64_t kTonePiece = 4096;

std::uint64_t turns(double cycles) noexcept {
  const double part = cycles - std::floor(cycles);
  return part < 1 ? static_cast<std::uint64_t>(std::ldexp(part, 64)) : 0;
}

std::complex<double> rotation(std::uint64_t phase) noexcept {
  return std::polar(1.0, 2 * std::numbers::pi * std::ldexp(static_cast<double>(phase), -64));
}

void rotate(cf32* out, const cf32* table, cf32 by, std::int64_t samples) noexcept {
  auto* __restrict x = reinterpret_cast<float*>(out);
  const auto* __restrict t = reinterpret_cast<const float*>(table);
  const float c = by.real();
  const float s = by.imag();
  for (std::int64_t i = 0; i < samples; ++i) {
    x[2 * i] = c * t[2 * i] - s * t[2 * i + 1];
    x[2 * i + 1] = c * t[2 * i + 1] + s * t[2 * i];
  }
}

}  // namespace

Tone::Tone(double cycles_per_sample) : increment_(turns(cycles_per_sample)), table_(kTonePiece) {
  for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = cf32(rotation(increment_ * i));
}

void Tone::write(std::int64_t first, double amplitude, double phase_cycles, std::span<cf32> out) const noexcept {
  const std::uint64_t phase = turns(phase_cycles);
  for (std::int64_t done = 0, most = static_cast<std::int64_t>(out.size()); done < most;) {
    const std::int64_t offset = (first + done) % kTonePiece;
    const std::int64_t samples = std::min(kTonePiece - offset, most - done);
    const auto start = static_cast<std::uint64_t>(first + done - offset);
    const cf32 by(amplitude * rotation(phase + increment_ * start));
    rotate(out.data() + done, table_.data() + offset, by, samples);
    done += samples;
  }
}

void rotate_by(const cf32* samples, const cf32* tone, std::span<cf32> out) noexcept {
  const auto* __restrict y = reinterpret_cast<const float*>(samples);
  const auto* __restrict t = reinterpret_cast<const float*>(tone);
  auto* __restrict x = reinterpret_cast<float*>(out.data());
  for (std::size_t i = 0; i < 2 * out.size(); i += 2) {
    x[i] = t[i] * y[i] - t[i + 1] * y[i + 1];
    x[i + 1] = t[i] * y[i + 1] + t[i + 1] * y[i];
  }
}

}  // namespace iqd::sim
