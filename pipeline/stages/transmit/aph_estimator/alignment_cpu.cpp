// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "pipeline/stages/transmit/aph_estimator/alignment.hpp"
#include "signal/scratch.hpp"
#include "signal/windows.hpp"

namespace iqd::aph_estimator {
namespace {

using Complex = std::complex<double>;

constexpr double kBeta = 8.5;  // of the window of `advance`

std::int64_t power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// std::complex multiplies with a call where NaN has to be looked after; these are finite.
template <class T> Complex conjugate_product(std::complex<T> a, std::complex<T> b) {
  const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  return {ar * br + ai * bi, ar * bi - ai * br};
}

double energy(std::span<const cf32> x) {
  double sum = 0;
  for (const cf32 v : x) sum += conjugate_product(v, v).real();
  return sum;
}

/// A Hann window over both halves of what is compared. Without one the summit of |r| would be pulled towards the side
/// where a strong sample comes into the sum and a weak one leaves it, 1 / samples or so.
double weight(std::int64_t i, std::int64_t n) {
  const double s = std::sin(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
  return s * s;
}

double weighted_energy(std::span<const cf32> x) {
  const std::int64_t half = std::ssize(x) / 2;
  double sum = 0;
  for (std::int64_t i = 0; i < 2 * half; ++i) {
    const cf32 v = x[static_cast<std::size_t>(i)];
    sum += weight(i % half, half) * conjugate_product(v, v).real();
  }
  return sum;
}

}  // namespace

Aligner::Aligner(std::int64_t most, std::int64_t search)
    : search_(search),
      forward_(power_of_two(most), FftPlan::Direction::forward),
      inverse_(power_of_two(most), FftPlan::Direction::inverse) {}

std::size_t Aligner::scratch_bytes(std::int64_t most) noexcept {
  Scratch count(nullptr);
  for (int i = 0; i < 4; ++i) count.take<cf32>(power_of_two(most));
  return count.bytes();
}

// z is taken without `reach` samples at its ends, in two halves under a window; s whole. So every delay compares as
// many samples, and nothing comes round from the other end of the transform.
Alignment Aligner::find(std::span<const cf32> sent, std::span<const cf32> received, std::byte* memory) const noexcept {
  Scratch scratch(memory);
  const std::int64_t size = forward_.size(), n = std::ssize(sent);
  const std::int64_t reach = std::min(search_ + 2, n / 4);
  cf32* const a = scratch.take<cf32>(size);
  cf32* const first = scratch.take<cf32>(size);
  cf32* const second = scratch.take<cf32>(size);
  cf32* const back = scratch.take<cf32>(size);
  const std::int64_t half = n / 2 - reach;
  transform(sent, reach, half, true, a, first);
  transform(sent, reach + half, half, true, a, second);
  transform(received, 0, n, false, a, back);
  for (std::int64_t k = 0; k < size; ++k) {
    first[k] = cf32(conjugate_product(first[k], back[k]));
    second[k] = cf32(conjugate_product(second[k], back[k]));
  }
  const std::int64_t whole = whole_delay(first, second, reach, a, back);
  Alignment found{.inside = std::abs(whole) < reach - 1};
  if (!found.inside) return found;
  found.delay = summit(a, static_cast<double>(whole), 6);
  const Point one = at(first, found.delay), two = at(second, found.delay);
  found.drift = summit(second, found.delay, 2) - summit(first, found.delay, 2);
  found.turn = std::arg(conjugate_product(one.r, two.r));
  const double scale = static_cast<double>(n) * static_cast<double>(n) / energy(sent) / energy(received);
  const double compared =
      weighted_energy(sent.subspan(reach, 2 * half)) * weighted_energy(received.subspan(reach + whole, 2 * half));
  found.coherence = compared > 0 ? std::norm(one.r + two.r) / (scale * compared) : 0;
  return found;
}

/// Of `count` samples from `begin` on where they are, and zeros; in units of the whole signal's rms.
void Aligner::transform(std::span<const cf32> x, std::int64_t begin, std::int64_t count, bool weighted, cf32* time,
                        cf32* bins) const noexcept {
  const double scale = std::sqrt(static_cast<double>(x.size()) / energy(x));
  std::fill_n(time, forward_.size(), cf32());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto w = static_cast<float>(weighted ? scale * weight(i, count) : scale);
    time[begin + i] = x[static_cast<std::size_t>(begin + i)] * w;
  }
  forward_.run(time, bins);
}

/// Leaves the sum of both halves in `cross`.
std::int64_t Aligner::whole_delay(const cf32* first, const cf32* second, std::int64_t reach, cf32* cross,
                                  cf32* r) const noexcept {
  const std::int64_t size = forward_.size();
  for (std::int64_t k = 0; k < size; ++k) cross[k] = first[k] + second[k];
  inverse_.run(cross, r);
  const auto power = [&](std::int64_t d) { return std::norm(r[d < 0 ? d + size : d]); };
  std::int64_t best = 0;
  for (std::int64_t d = -reach; d < reach; ++d)
    if (power(d) > power(best)) best = d;
  return best;
}

/// r(d) = sum over k of C(k) exp(j w d) / size, w = 2 pi k / size in -pi … pi.
Aligner::Point Aligner::at(const cf32* cross, double delay) const noexcept {
  constexpr std::int64_t kRun = 64;  // of products of phasors, before rounding adds up
  const std::int64_t size = forward_.size();
  const double step = 2 * std::numbers::pi / static_cast<double>(size);
  const Complex turn = std::polar(1.0, step * delay);
  Complex r, slope, bend;
  for (std::int64_t start = -size / 2; start < (size + 1) / 2; start += kRun) {
    Complex phasor = std::polar(1.0, step * static_cast<double>(start) * delay);
    const std::int64_t end = std::min(start + kRun, (size + 1) / 2);
    for (std::int64_t k = start; k < end; ++k) {
      const cf32 c = cross[k < 0 ? k + size : k];
      const Complex x = conjugate_product(Complex(c.real(), -c.imag()), phasor);
      const double w = step * static_cast<double>(k);
      r += x;
      slope += Complex(-w * x.imag(), w * x.real());
      bend -= w * w * x;
      phasor = conjugate_product(std::conj(phasor), turn);
    }
  }
  const double scale = 1 / static_cast<double>(size);
  return {r * scale, slope * scale, bend * scale};
}

/// Of |r|^2, by Newton's method from a place near it. A step where the curve is hollow, as between two equal
/// neighbours of a signal as wide as the rate, goes half a sample up the slope.
double Aligner::summit(const cf32* cross, double delay, int steps) const noexcept {
  for (int i = 0; i < steps; ++i) {
    const Point p = at(cross, delay);
    const double slope = conjugate_product(p.r, p.slope).real();
    const double bend = std::norm(p.slope) + conjugate_product(p.r, p.bend).real();
    const double step = bend < 0 ? -slope / bend : std::copysign(0.5, slope);
    delay += std::clamp(step, -0.5, 0.5);
  }
  return delay;
}

Range within(std::int64_t n, double delay) noexcept {
  const auto whole = static_cast<std::int64_t>(std::floor(delay));
  const bool between = delay != std::floor(delay);
  const std::int64_t before = between ? kReach - 1 : 0, behind = between ? kReach : 0;
  return {std::max<std::int64_t>(0, before - whole), std::min(n, n - behind - whole)};
}

void advance(std::span<const cf32> s, double delay, Range range, Complex* u) noexcept {
  const double whole = std::floor(delay), part = delay - whole;
  const cf32* const from = s.data() + static_cast<std::int64_t>(whole);
  if (part == 0) {
    for (std::int64_t n = range.begin; n < range.end; ++n) *u++ = Complex(from[n]);
    return;
  }
  double taps[2 * kReach];
  for (std::int64_t k = 0; k < 2 * kReach; ++k) {
    const double t = static_cast<double>(k - kReach + 1) - part;
    const double edge = t / static_cast<double>(kReach);
    const double window = bessel_i0(kBeta * std::sqrt(std::max(0.0, 1 - edge * edge))) / bessel_i0(kBeta);
    taps[k] = window * std::sin(std::numbers::pi * t) / (std::numbers::pi * t);
  }
  for (std::int64_t n = range.begin; n < range.end; ++n) {
    double re = 0, im = 0;
    for (std::int64_t k = 0; k < 2 * kReach; ++k) {
      const cf32 x = from[n + k - kReach + 1];
      re += taps[k] * x.real();
      im += taps[k] * x.imag();
    }
    *u++ = {re, im};
  }
}

}  // namespace iqd::aph_estimator
