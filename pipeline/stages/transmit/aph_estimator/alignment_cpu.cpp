// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/transmit/aph_estimator/alignment.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::aph_estimator {
namespace {

double energy(std::span<const cf32> x) {
  double sum = 0;
  for (const cf32 v : x) sum += power_of(v);
  return sum;
}

Point point(const cf32* cross, std::int64_t size, double delay) {
  constexpr std::int64_t kRun = 64;  // products of phasors, before rounding accumulates
  const double step = 2 * std::numbers::pi / static_cast<double>(size);
  const Complex64 turn = std::polar<double>(1.0, step * delay);
  Point sum;
  for (std::int64_t start = -size / 2; start < (size + 1) / 2; start += kRun) {
    Complex64 phasor = std::polar<double>(1.0, step * static_cast<double>(start) * delay);
    const std::int64_t end = std::min(start + kRun, (size + 1) / 2);
    for (std::int64_t k = start; k < end; ++k) {
      sum.add(cross[k < 0 ? k + size : k], step * static_cast<double>(k), phasor);
      phasor = product(phasor, turn);
    }
  }
  return sum;
}

}  // namespace

Aligner::Aligner(std::int64_t most, std::int64_t search)
    : search_(search),
      forward_(transform_size(most), FftPlan::Direction::forward),
      inverse_(transform_size(most), FftPlan::Direction::inverse) {}

std::size_t Aligner::scratch_bytes(std::int64_t most) noexcept {
  Scratch count(nullptr);
  for (int i = 0; i < 4; ++i) count.take<cf32>(transform_size(most));
  return count.bytes();
}

Alignment Aligner::find(std::span<const cf32> sent, std::span<const cf32> received, std::byte* memory) const noexcept {
  Scratch scratch(memory);
  const std::int64_t size = forward_.size(), n = std::ssize(sent);
  const Halves halves(n, search_);
  const std::int64_t reach = halves.reach, half = halves.half;
  cf32* const a = scratch.take<cf32>(size);
  cf32* const first = scratch.take<cf32>(size);
  cf32* const second = scratch.take<cf32>(size);
  cf32* const back = scratch.take<cf32>(size);
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
  found.delay = summit(a, static_cast<double>(whole), kClimbs);
  found.drift = summit(second, found.delay, kHalfClimbs) - summit(first, found.delay, kHalfClimbs);
  Compared compared;
  for (std::int64_t i = 0; i < 2 * half; ++i) {
    const double weight = halves.weight(i);
    compared.z += weight * power_of(sent[static_cast<std::size_t>(reach + i)]);
    compared.s += weight * power_of(received[static_cast<std::size_t>(reach + whole + i)]);
  }
  const double scale = static_cast<double>(size) * static_cast<double>(n);
  compared.z *= scale / energy(sent);
  compared.s *= scale / energy(received);
  compare(point(first, size, found.delay).r, point(second, size, found.delay).r, compared, found);
  return found;
}

/// Transforms `count` samples from `begin` on, zero where there are none; in units of the whole signal's rms.
void Aligner::transform(std::span<const cf32> x, std::int64_t begin, std::int64_t count, bool weighted, cf32* time,
                        cf32* bins) const noexcept {
  const double scale = std::sqrt(static_cast<double>(x.size()) / energy(x));
  const Halves halves(std::ssize(x), search_);
  std::fill_n(time, forward_.size(), cf32());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto w = static_cast<float>(weighted ? scale * halves.weight(i) : scale);
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
  Peak best;
  for (std::int64_t d = -reach; d < reach; ++d) best += {power_of(r[d < 0 ? d + size : d]), d};
  return best.at;
}

/// The maximum of |r|^2 near `delay`, by Newton's method.
double Aligner::summit(const cf32* cross, double delay, int steps) const noexcept {
  for (int i = 0; i < steps; ++i) delay += point(cross, forward_.size(), delay).step();
  return delay;
}

void advance(std::span<const cf32> s, double delay, Range range, Complex64* u) noexcept {
  const double whole = std::floor(delay), part = delay - whole;
  const cf32* const from = s.data() + static_cast<std::int64_t>(whole);
  if (part == 0) {
    for (std::int64_t n = range.begin; n < range.end; ++n) *u++ = Complex64(from[n]);
    return;
  }
  double taps[2 * kReach];
  for (std::int64_t k = 0; k < 2 * kReach; ++k) taps[k] = sinc_tap(k, part);
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
