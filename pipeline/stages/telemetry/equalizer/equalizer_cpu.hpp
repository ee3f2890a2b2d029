// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pipeline/stages/telemetry/equalizer/cma_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/fft_plan.hpp"

/// The equalizers on the processor, a packet at a time. Keeps nothing between packets.
namespace iqd::equalizer {

struct Packet {
  const cf32* window;   // [window]
  const cf32* channel;  // [38]
  float noise;
  cf32* symbols;  // [kind][bit]
  cf32* taps;     // [linear kind][186]; null: nobody wants them
};

/// The same bits for a packet whatever lies beside it, and for a kind whatever other kinds there are. May be used by
/// many threads at once, each with scratch of its own.
class Equalizer {
 public:
  /// Throws SetupError where there is no memory.
  explicit Equalizer(Setup setup);
  static std::size_t scratch_bytes(const Setup& setup) noexcept;
  void run(const Packet& packet, std::byte* scratch) const noexcept;
  const Setup& setup() const noexcept { return setup_; }

 private:
  friend class Work;

  Setup setup_;
  std::vector<float> plain_;     // 1/N at each bin
  std::vector<float> filtered_;  // D(k)/N
  FftPlan forward_;
  FftPlan to_symbols_;  // gives every samples_per_bit-th sample
  std::optional<Descent> descent_;
};

}  // namespace iqd::equalizer
