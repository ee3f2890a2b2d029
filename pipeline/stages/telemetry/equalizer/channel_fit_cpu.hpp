// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/estimates/hermitian_system.hpp"
#include "signal/filters/scratch.hpp"

/// A channel from decided bits, on the CPU.
namespace iqd::equalizer {

/// Sums over the samples of some bits, for each tap i:
///
///   own = sum of p*(n + 12) p(n + 12 - i)    received = sum of p*(n + 12 - i) x(n)
struct LagSums {
  alignas(64) float own_re[kChannelTaps];
  alignas(64) float own_im[kChannelTaps];
  alignas(64) float received_re[kChannelTaps];
  alignas(64) float received_im[kChannelTaps];

  LagSums& operator+=(const LagSums& o) noexcept;
};

/// h = (X^H X + (rho + 1) I)^-1 (X^H x + rho h0), X[n][m] = p(n - m): p is the signal of the bits, x what was received
/// of it with the phase taken off, h0 the channel before. In a lane's scratch.
class ChannelFit {
 public:
  ChannelFit(const Setup& setup, Scratch& scratch);

  // All stretches are in bits of a packet, begin … end - 1.

  /// Makes p, from Decisions::bits().
  void modulate(const std::uint8_t* bits, std::int64_t begin, std::int64_t end) noexcept;
  /// Takes x; x(0) is the packet's first sample.
  void take(const cf32* x, std::int64_t begin, std::int64_t end) noexcept;
  /// Sums over a stretch that has been taken; zeros if it is empty. p is needed from 25 samples before it to 12 behind.
  void sum(std::int64_t begin, std::int64_t end, LagSums& to) const noexcept;
  /// Replaces the channel, [38], by that of a stretch, from the sums over its parts. A channel that is not finite is
  /// discarded.
  void fit(std::span<const LagSums> parts, std::int64_t begin, std::int64_t end, float rho, cf32* channel) noexcept;

 private:
  /// In samples.
  void set_equations(const LagSums& sums, std::int64_t begin, std::int64_t end, float rho, const cf32* before) noexcept;

  const Setup& s_;
  float* p_re_;
  float* p_im_;
  float* x_re_;
  float* x_im_;
  float* h_re_;
  float* h_im_;
  HermitianSystem system_;
};

}  // namespace iqd::equalizer
