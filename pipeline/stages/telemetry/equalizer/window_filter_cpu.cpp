// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/window_filter_cpu.hpp"

#include <algorithm>

#include "pipeline/stages/arithmetic.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/window_filter_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

using elementwise::Complex;

/// y = r c w, or y += r c w
void filter_bins(const cf32* r, const cf32* c, const float* w, bool more, cf32* y, std::int64_t n) {
  const auto* const left = reinterpret_cast<const Complex*>(r);
  const auto* const right = reinterpret_cast<const Complex*>(c);
  const auto product = [=](std::int64_t k) {
    const Complex a = left[k];
    const Complex b = right[k];
    return Complex{(a.re * b.re - a.im * b.im) * w[k], (a.re * b.im + a.im * b.re) * w[k]};
  };
  auto* const to = reinterpret_cast<Complex*>(y);
  if (more)
    for (std::int64_t k = 0; k < n; ++k) to[k] = {to[k].re + product(k).re, to[k].im + product(k).im};
  else
    for (std::int64_t k = 0; k < n; ++k) to[k] = product(k);
}

HWY_INLINE float square(Complex a) {
  return a.re * a.re + a.im * a.im;
}

/// C = H* / (|H|^2 + N)
void invert(const cf32* h, float noise, cf32* c, std::int64_t n) {
  const auto* const from = reinterpret_cast<const Complex*>(h);
  auto* const to = reinterpret_cast<Complex*>(c);
  for (std::int64_t k = 0; k < n; ++k) {
    const Complex a = from[k];
    const float part = 1 / std::max(square(a) + noise, kLeastDivisor);
    to[k] = {a.re * part, -a.im * part};
  }
}

/// C = H* Psi / (|H|^2 Psi + N)
void invert_weighted(const cf32* h, const float* psi, float noise, cf32* c, std::int64_t n) {
  const auto* const from = reinterpret_cast<const Complex*>(h);
  auto* const to = reinterpret_cast<Complex*>(c);
  for (std::int64_t k = 0; k < n; ++k) {
    const Complex a = from[k];
    const float part = psi[k] / std::max(square(a) * psi[k] + noise, kLeastDivisor);
    to[k] = {a.re * part, -a.im * part};
  }
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(filter_bins);
HWY_EXPORT(invert);
HWY_EXPORT(invert_weighted);

WindowFilter::WindowFilter(const Bins& bins, std::int64_t samples_per_bit)
    : samples_per_bit_(samples_per_bit),
      psi_(bins.psi),
      forward_(bins.size),
      to_symbols_(bins.size / samples_per_bit, FftPlan::Direction::inverse) {
  const float part = 1 / static_cast<float>(bins.size);
  plain_.assign(static_cast<std::size_t>(bins.size), part);
  for (const float d : bins.detection) detection_.push_back(d * part);
}

void WindowFilter::transform_taps(std::span<const cf32> taps, std::int64_t first, Buffers buffers,
                                  cf32* spectrum) const noexcept {
  const std::int64_t size = forward_.size();
  std::fill_n(buffers.a, size, cf32());
  std::copy_n(taps.data(), -first, buffers.a + size + first);
  std::copy_n(taps.data() - first, std::ssize(taps) + first, buffers.a);
  forward_.run(buffers.a, spectrum);
}

void WindowFilter::invert(Kind kind, const cf32* channel, float noise, cf32* response) const noexcept {
  if (kind == Kind::fde1) return HWY_DYNAMIC_DISPATCH(invert)(channel, noise, response, size());
  HWY_DYNAMIC_DISPATCH(invert_weighted)(channel, psi_.data(), noise, response, size());
}

void WindowFilter::run(const cf32* window, const cf32* filter, bool detection, Buffers buffers, cf32* symbols,
                       std::int64_t bits) const noexcept {
  const float* const weights = (detection ? detection_ : plain_).data();
  const std::int64_t bins = to_symbols_.size();
  for (std::int64_t at = 0; at < size(); at += bins)
    HWY_DYNAMIC_DISPATCH(filter_bins)(window + at, filter + at, weights + at, at > 0, buffers.a, bins);
  to_symbols_.run(buffers.a, buffers.b);
  std::copy_n(buffers.b + PacketFormat::kGuard / samples_per_bit_, bits, symbols);
}

}  // namespace iqd::equalizer
#endif
