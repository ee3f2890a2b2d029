// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/scaled_packet_cpu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pipeline/stages/arithmetic.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/scaled_packet_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

using elementwise::Complex;

/// The largest magnitude of all parts, as bits: 0x7f800000 and above mean a NaN or an infinity. Integers, since
/// compilers may not vectorize floating-point maxima.
std::uint32_t largest(const cf32* x, std::int64_t n) {
  const auto* const bits = reinterpret_cast<const float*>(x);
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) most = std::max(most, std::bit_cast<std::uint32_t>(bits[i]) & 0x7fffffffu);
  return most;
}

void scale(const cf32* x, float factor, cf32* y, std::int64_t n) {
  const auto* const from = reinterpret_cast<const Complex*>(x);
  auto* const to = reinterpret_cast<Complex*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = {from[i].re * factor, from[i].im * factor};
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(largest);
HWY_EXPORT(scale);

float unit_of(const Packet& packet, std::int64_t window) noexcept {
  const std::uint32_t h = HWY_DYNAMIC_DISPATCH(largest)(packet.channel, kChannelTaps);
  const std::uint32_t r = HWY_DYNAMIC_DISPATCH(largest)(packet.window, window);
  if (!std::isfinite(std::bit_cast<float>(std::max(h, r))) || !std::isfinite(packet.noise))
    return std::numeric_limits<float>::quiet_NaN();
  const float most = std::bit_cast<float>(h);
  return most < kLeastChannel ? 0 : std::ldexp(1.0f, -std::min(std::ilogb(most), 126));
}

ScaledPacket::ScaledPacket(const Setup& setup, Scratch& scratch)
    : window_(setup.format.window()),
      size_(setup.window.size),
      samples_(scratch.take<cf32>(size_)),
      channel_(scratch.take<cf32>(kChannelTaps)) {}

void ScaledPacket::load(const Packet& packet, float unit) noexcept {
  unit_ = unit;
  noise_ = std::min(std::max(packet.noise, 0.0f) * unit * unit, kMostNoise);
  HWY_DYNAMIC_DISPATCH(scale)(packet.channel, unit, channel_, kChannelTaps);
  HWY_DYNAMIC_DISPATCH(scale)(packet.window, unit, samples_, window_);
  std::fill_n(samples_ + window_, size_ - window_, cf32());
}

void ScaledPacket::unscale_taps(const cf32* taps, cf32* to) const noexcept {
  HWY_DYNAMIC_DISPATCH(scale)(taps, unit_, to, kTaps);
}

}  // namespace iqd::equalizer
#endif
