// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/filters/align_channels/align_channels.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/fractional_delay.hpp"

namespace iqd::align_channels {
namespace {

constexpr std::int64_t kHalf = Correction::kTaps / 2;
constexpr std::int64_t kTile = 2048;
/// A fraction of a sample that counts as none: at the band's edge it rotates by 0.0002 degrees.
constexpr double kNothing = 1e-6;

/// to = x(from … from + to.size() - 1), zero outside x.
void gather(std::span<const cf32> x, std::int64_t from, std::span<cf32> to) noexcept {
  const std::int64_t begin = std::clamp<std::int64_t>(from, 0, std::ssize(x));
  const std::int64_t end = std::clamp<std::int64_t>(from + std::ssize(to), begin, std::ssize(x));
  std::fill(to.begin(), to.end(), cf32{});
  if (end > begin) std::copy(x.begin() + begin, x.begin() + end, to.begin() + (begin - from));
}

/// By parts, since std::complex would check for infinities.
void multiply(cf32 factor, std::span<cf32> y) noexcept {
  auto* const v = reinterpret_cast<float*>(y.data());
  const float re = factor.real(), im = factor.imag();
  for (std::size_t i = 0; i < 2 * y.size(); i += 2) {
    const float a = v[i], b = v[i + 1];
    v[i] = a * re - b * im;
    v[i + 1] = a * im + b * re;
  }
}

}  // namespace

Correction::Correction(double gain_db, double phase_deg, double delay)
    : factor(std::polar(std::pow(10.0, -gain_db / 20), -phase_deg * std::numbers::pi / 180)),
      whole(static_cast<std::int64_t>(std::floor(delay + kNothing))) {
  if (const double rest = delay - static_cast<double>(whole); rest > kNothing) taps = fractional_delay(rest, kTaps);
}

std::int64_t Correction::past() const noexcept {
  return std::max<std::int64_t>(0, (taps.empty() ? 0 : kHalf - 1) - whole);
}
std::int64_t Correction::future() const noexcept {
  return std::max<std::int64_t>(0, (taps.empty() ? 0 : kHalf) + whole);
}

std::size_t scratch_bytes() noexcept {
  return static_cast<std::size_t>(kTile + Correction::kTaps + 2 * kFilterMargin) * sizeof(cf32);
}

void run_cpu(const Correction& c, std::span<const cf32> x, std::int64_t x_first, std::int64_t first, std::span<cf32> y,
             std::byte* scratch) noexcept {
  if (c.taps.empty()) {
    gather(x, first + c.whole - x_first, y);
    return multiply(c.factor, y);
  }
  auto* const tile = reinterpret_cast<cf32*>(scratch);
  for (std::int64_t at = 0; at < std::ssize(y); at += kTile) {
    const std::int64_t n = std::min(kTile, std::ssize(y) - at);
    constexpr std::int64_t kBefore = kHalf - 1 + kFilterMargin;
    const std::int64_t begin = first + at + c.whole - kBefore;
    gather(x, begin - x_first, {tile, static_cast<std::size_t>(kBefore + n + kHalf + kFilterMargin)});
    const FilterPhase phase{c.taps.data(), nullptr, Correction::kTaps,
                            reinterpret_cast<const float*>(tile + kBefore + kHalf)};
    const std::span<cf32> to = y.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
    filter_tile({&phase, 1}, true, reinterpret_cast<float*>(to.data()), n);
    multiply(c.factor, to);
  }
}

}  // namespace iqd::align_channels
