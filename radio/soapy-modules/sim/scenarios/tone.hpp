// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace iqd::sim {

using cf32 = std::complex<float>;

/// exp(j 2π (f n + phase)) as a function of the absolute position n. Phase is counted in units of 2^-64 turns, so it
/// neither drifts nor depends on how the stream is read.
class Tone {
 public:
  explicit Tone(double cycles_per_sample);
  /// Writes `amplitude` times the tone at positions first, first + 1, ….
  void write(std::int64_t first, double amplitude, double phase_cycles, std::span<cf32> out) const noexcept;

 private:
  std::uint64_t increment_;
  std::vector<cf32> table_;  // one piece, starting at phase 0
};

/// Writes samples[n] times tone[n], by real and imaginary parts: the library's complex product checks for NaN. `out`
/// must not overlap the others.
void rotate_by(const cf32* samples, const cf32* tone, std::span<cf32> out) noexcept;

}  // namespace iqd::sim
