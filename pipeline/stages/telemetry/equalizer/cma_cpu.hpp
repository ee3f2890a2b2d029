// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/filters/scratch.hpp"

/// The constant modulus algorithm on the CPU: four short transforms per block and iteration, see overlap.hpp.
namespace iqd::equalizer {

/// A lane's scratch.
struct DescentMemory {
  cf32* spectra;   // [block][bin] of the received samples
  cf32* a;         // [block][…]
  cf32* b;         // [block][…]
  cf32* taps;      // the taps, zero-padded
  cf32* filter;    // [bin] their spectrum; later the gradient's
  cf32* gradient;  // [tap]

  DescentMemory(const Setup& setup, Scratch& scratch);
};

class Descent {
 public:
  /// Throws SetupError if memory is short.
  explicit Descent(const Setup& setup);
  /// Starts from the given taps; if it diverges, they are left unchanged. `window` is in units of the channel.
  void run(const cf32* window, cf32* taps, const DescentMemory& memory) const noexcept;

 private:
  void receive(const cf32* window, const DescentMemory& memory) const noexcept;
  void step(float size, const DescentMemory& memory) const noexcept;

  std::int64_t samples_;
  std::int64_t window_;
  std::int64_t iterations_;
  float step_;
  FftPlan forward_, inverse_;  // of one block
  FftPlan all_forward_, all_inverse_;
};

}  // namespace iqd::equalizer
