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
  void transform(std::span<const cf32> x, std::int64_t begin, std::int64_t count, bool weighted, cf32* time,
                 cf32* bins) const noexcept;
  double summit(const cf32* cross, double delay, int steps) const noexcept;
  std::int64_t whole_delay(const cf32* first, const cf32* second, std::int64_t reach, cf32* cross,
                           cf32* r) const noexcept;

  std::int64_t search_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// The positions n of s(n + delay) that samples 0 … n-1 of s give without what lies beyond them.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  IQD_HOST_DEVICE std::int64_t length() const noexcept { return end - begin; }
};
IQD_HOST_DEVICE Range within(std::int64_t n, double delay) noexcept;

/// u(n) = s(n + delay) for all n of that range: a sinc under a Kaiser window of 64 samples, within -85 dB up to 0.45
/// of the rate. Whole delays are exact.
void advance(std::span<const cf32> s, double delay, Range range, Complex64* u) noexcept;

// What all backends compute alike.

inline constexpr int kClimbs = 6;      // of Newton's steps, from a whole delay
inline constexpr int kHalfClimbs = 2;  // from there to a half's own

inline std::int64_t transform_size(std::int64_t most) noexcept {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
}

/// z is taken without `reach` samples at its ends, in two halves under a window; s whole. So every delay compares as
/// many samples, and nothing comes round from the other end of the transform.
struct Halves {
  IQD_HOST_DEVICE Halves(std::int64_t n, std::int64_t search)
      : reach(search + 2 < n / 4 ? search + 2 : n / 4), half(n / 2 - reach) {}
  /// A Hann window over both. Without one the summit of |r| would be pulled towards the side where a strong sample
  /// comes into the sum and a weak one leaves it, 1 / samples or so.
  IQD_HOST_DEVICE double weight(std::int64_t i) const noexcept {
    const double s = sin(std::numbers::pi * (static_cast<double>(i % half) + 0.5) / static_cast<double>(half));
    return s * s;
  }
  std::int64_t reach;
  std::int64_t half;
};

/// A place in the correlation's magnitude. Of equal ones the first is the highest.
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
  /// A step of Newton's method to the summit of |r|^2. Where the curve is hollow, as between two equal neighbours of a
  /// signal as wide as the rate, half a sample up the slope.
  IQD_HOST_DEVICE double step() const noexcept {
    const double up = conjugate_product(r, slope).real();
    const double curve = power_of(slope) + conjugate_product(r, bend).real();
    const double step = curve < 0 ? -up / curve : copysign(0.5, up);
    return fmin(fmax(step, -0.5), 0.5);
  }
};

/// Energies of what is compared, under the window.
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

/// Samples on each side that a delay which is not whole reaches to.
inline constexpr std::int64_t kReach = 32;

IQD_HOST_DEVICE inline Range within(std::int64_t n, double delay) noexcept {
  const auto whole = static_cast<std::int64_t>(floor(delay));
  const bool between = delay != floor(delay);
  const std::int64_t begin = (between ? kReach - 1 : 0) - whole, end = n - (between ? kReach : 0) - whole;
  return {begin > 0 ? begin : 0, end < n ? end : n};
}
/// What sample k - kReach + 1 beside the whole delay counts, k = 0 … 2 kReach - 1, where `part` is between 0 and 1.
IQD_HOST_DEVICE inline double sinc_tap(std::int64_t k, double part) noexcept {
  constexpr double kBeta = 8.5;
  const double t = static_cast<double>(k - kReach + 1) - part;
  const double edge = t / static_cast<double>(kReach);
  const double window = bessel_i0(kBeta * sqrt(fmax(0.0, 1 - edge * edge))) / bessel_i0(kBeta);
  return window * sin(std::numbers::pi * t) / (std::numbers::pi * t);
}

}  // namespace iqd::aph_estimator
