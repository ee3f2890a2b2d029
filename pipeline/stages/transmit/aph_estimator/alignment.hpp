// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stages/transmit/aph_estimator/products.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/filters/windows.hpp"

namespace iqd::aph_estimator {

/// How the received signal, s, is aligned with the sent one, z: s(n + delay) resembles z(n).
struct Alignment {
  double delay = 0;      // samples; maximizes |r|, r(d) = sum of w(n) conj(z(n)) s(n + d)
  double coherence = 0;  // |r|^2 over both energies: 1 if s is z, delayed and scaled
  double drift = 0;      // delay of the second half minus that of the first, samples
  double turn = 0;       // the same of the phase, radians
  bool inside = true;    // the maximum is not at the edge of the search
};

/// Finds delays of up to `search` samples in either direction, of signals of up to `most` samples. Many threads may use
/// it at once, each with its own scratch.
class Aligner {
 public:
  /// Throws SetupError if memory is short.
  Aligner(std::int64_t most, std::int64_t search);
  static std::size_t scratch_bytes(std::int64_t most) noexcept;

  /// Both signals must be finite and not silent. In short signals, delays of up to a quarter of the length are
  /// searched.
  Alignment find(std::span<const cf32> sent, std::span<const cf32> received, std::byte* scratch) const noexcept;

 private:
  void transform(std::span<const cf32> x, std::int64_t begin, std::int64_t count, bool weighted, cf32* time,
                 cf32* bins) const noexcept;
  double summit(const cf32* cross, double delay, int steps) const noexcept;
  std::int64_t whole_delay(const cf32* first, const cf32* second, std::int64_t reach, cf32* cross,
                           cf32* r) const noexcept;

  std::int64_t search_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// The positions n at which s(n + delay) can be computed from samples 0 … n-1 of s.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  IQD_HOST_DEVICE std::int64_t length() const noexcept { return end - begin; }
};
IQD_HOST_DEVICE Range within(std::int64_t n, double delay) noexcept;

/// u(n) = s(n + delay) for all n of that range: a sinc of 64 samples with a Kaiser window, within -85 dB up to 0.45 of
/// the rate. Whole delays are exact.
void advance(std::span<const cf32> s, double delay, Range range, Complex64* u) noexcept;

// Shared by all backends.

inline constexpr int kClimbs = 6;      // Newton's steps, from a whole delay
inline constexpr int kHalfClimbs = 2;  // from there to that of a half

inline std::int64_t transform_size(std::int64_t most) noexcept {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
}

/// z without `reach` samples at its ends, in two windowed halves; s as a whole. So every delay compares the same number
/// of samples, and nothing wraps around in the transform.
struct Halves {
  IQD_HOST_DEVICE Halves(std::int64_t n, std::int64_t search)
      : reach(search + 2 < n / 4 ? search + 2 : n / 4), half(n / 2 - reach) {}
  /// A Hann window over each half. Without it, the maximum of |r| would be biased towards the side where a strong
  /// sample enters the sum and a weak one leaves it, by about 1 / samples.
  IQD_HOST_DEVICE double weight(std::int64_t i) const noexcept {
    const double s = sin(std::numbers::pi * (static_cast<double>(i % half) + 0.5) / static_cast<double>(half));
    return s * s;
  }
  std::int64_t reach;
  std::int64_t half;
};

/// A point of the correlation's magnitude. Of equal ones the first wins.
struct Peak {
  double power = -1;
  std::int64_t at = 0;
  IQD_HOST_DEVICE Peak& operator+=(const Peak& o) noexcept {
    if (o.power > power || (o.power == power && o.at < at)) *this = o;
    return *this;
  }
};

/// r(d) = sum over k of C(k) exp(j w d), w = 2 pi k / size in -pi … pi, and its first two derivatives.
struct Point {
  Complex64 r, slope, bend;
  IQD_HOST_DEVICE void add(cf32 c, double w, Complex64 phasor) noexcept {
    const Complex64 x = product(c, phasor);
    r += x;
    slope += Complex64(-w * x.imag(), w * x.real());
    bend -= w * w * x;
  }
  IQD_HOST_DEVICE Point& operator+=(const Point& o) noexcept {
    r += o.r;
    slope += o.slope;
    bend += o.bend;
    return *this;
  }
  /// A Newton step towards the maximum of |r|^2. Where the curve is convex, as between two equal neighbours of a signal
  /// as wide as the rate, half a sample up the slope.
  IQD_HOST_DEVICE double step() const noexcept {
    const double up = conjugate_product(r, slope).real();
    const double curve = power_of(slope) + conjugate_product(r, bend).real();
    const double step = curve < 0 ? -up / curve : copysign(0.5, up);
    return fmin(fmax(step, -0.5), 0.5);
  }
};

/// Energies of the compared samples, under the window.
struct Compared {
  double z = 0, s = 0;
  IQD_HOST_DEVICE Compared& operator+=(const Compared& o) noexcept {
    z += o.z;
    s += o.s;
    return *this;
  }
};
/// r of both halves, times `size`; s and z were scaled to a mean power of 1.
IQD_HOST_DEVICE inline void compare(Complex64 first, Complex64 second, const Compared& energy,
                                    Alignment& found) noexcept {
  found.turn = atan2(conjugate_product(first, second).imag(), conjugate_product(first, second).real());
  found.coherence = energy.z * energy.s > 0 ? power_of(first + second) / (energy.z * energy.s) : 0;
}

/// Samples on each side that a fractional delay needs.
inline constexpr std::int64_t kReach = 32;

IQD_HOST_DEVICE inline Range within(std::int64_t n, double delay) noexcept {
  const auto whole = static_cast<std::int64_t>(floor(delay));
  const bool between = delay != floor(delay);
  const std::int64_t begin = (between ? kReach - 1 : 0) - whole, end = n - (between ? kReach : 0) - whole;
  return {begin > 0 ? begin : 0, end < n ? end : n};
}
/// The weight of sample k - kReach + 1 relative to the whole delay, k = 0 … 2 kReach - 1; `part` is between 0 and 1.
IQD_HOST_DEVICE inline double sinc_tap(std::int64_t k, double part) noexcept {
  constexpr double kBeta = 8.5;
  const double t = static_cast<double>(k - kReach + 1) - part;
  const double edge = t / static_cast<double>(kReach);
  const double window = bessel_i0(kBeta * sqrt(fmax(0.0, 1 - edge * edge))) / bessel_i0(kBeta);
  return window * sin(std::numbers::pi * t) / (std::numbers::pi * t);
}

}  // namespace iqd::aph_estimator
