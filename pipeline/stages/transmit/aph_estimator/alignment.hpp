// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/element.hpp"
#include "signal/fft_plan.hpp"

namespace iqd::aph_estimator {

/// How what came back, s, lies to what was sent, z: s(n + delay) is like z(n).
struct Alignment {
  double delay = 0;      // samples; that of the largest |r|, r(d) = sum of w(n) conj(z(n)) s(n + d)
  double coherence = 0;  // |r|^2 over both energies: 1 where s is z, delayed and times a constant
  double drift = 0;      // delay of the second half less that of the first, samples
  double turn = 0;       // the same of the phase, radians
  bool inside = true;    // the largest is not at the edge of the search
};

/// Finds delays of up to `search` samples, either way, of signals of up to `most` samples. May be used by many threads
/// at once, each with its own scratch.
class Aligner {
 public:
  /// Throws SetupError where there is no memory.
  Aligner(std::int64_t most, std::int64_t search);
  static std::size_t scratch_bytes(std::int64_t most) noexcept;

  /// Both finite and not silent. Of signals that are short, delays of up to a quarter of them are searched.
  Alignment find(std::span<const cf32> sent, std::span<const cf32> received, std::byte* scratch) const noexcept;

 private:
  struct Point {
    std::complex<double> r, slope, bend;  // r, and its first two derivatives
  };
  void transform(std::span<const cf32> x, std::int64_t begin, std::int64_t count, bool weighted, cf32* time,
                 cf32* bins) const noexcept;
  Point at(const cf32* cross, double delay) const noexcept;
  double summit(const cf32* cross, double delay, int steps) const noexcept;
  std::int64_t whole_delay(const cf32* first, const cf32* second, std::int64_t reach, cf32* cross,
                           cf32* r) const noexcept;

  std::int64_t search_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// Samples on each side that a delay which is not whole reaches to.
inline constexpr std::int64_t kReach = 32;

/// The positions n of s(n + delay) that samples 0 … n-1 of s give without what lies beyond them.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Range within(std::int64_t n, double delay) noexcept;

/// u(n) = s(n + delay) for all n of that range: a sinc under a Kaiser window of 64 samples, within -85 dB up to 0.45
/// of the rate. Whole delays are exact.
void advance(std::span<const cf32> s, double delay, Range range, std::complex<double>* u) noexcept;

}  // namespace iqd::aph_estimator
