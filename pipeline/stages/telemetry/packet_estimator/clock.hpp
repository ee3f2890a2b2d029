// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "base/views.hpp"
#include "signal/formats/packet_format.hpp"

/// The error e of the transmitter's clock within a packet: sample n was taken at n (1 + e) of the transmitter's samples.
///
///   b(m) = 0.4 sqrt(pi) / s  cos(pi m / 2 s)  exp(-(pi m / 5 s)^2),  m = -5 s … 5 s,  s samples a bit
///   z(n) = sum b(m) r(n - m)
///   P_j, M_j = sum z(n)^2 exp(-+j pi n / s) over segment j: 256 s samples from 96 s + 256 s j on, j below 24
///   W_j = P_j M_j*
///   e = argmax |sum W_j exp(-j 2 pi e 256 j)|, at most 150 ppm;  quality = that maximum / sum |W_j|
///   x(i) = r(i - e (i - n0)), n0 the middle of the pilot's samples that the channel is estimated from
///
/// The square of SOQPSK has lines at ± half the bit rate. A clock error turns them against each other, a carrier offset
/// does not.
namespace iqd::packet_estimator {

enum class Clock : std::uint8_t {
  off,
  packet,  // a separate error for each packet
  block,   // one for all packets of the block: the sums' powers are added
};
inline std::span<const std::string_view> enum_names(Clock) {
  static constexpr std::string_view names[] = {"off", "packet", "block"};
  return names;
}

inline constexpr int kSegmentBits = 256;
inline constexpr int kMostSegments = 24;
inline constexpr int kFewestSegments = 4;
inline constexpr double kMostError = 150e-6;
/// The maximum is searched on a coarse grid, then on a fine one around it: within a coarse step the power changes by
/// 1e-4, and has no second maximum.
inline constexpr double kFineStep = 0.2e-6;
inline constexpr int kFinePerCoarse = 10;
inline constexpr int kCoarse = 75;                      // steps to each side
inline constexpr int kFine = kCoarse * kFinePerCoarse;  // the limit, in fine steps
/// Below it, the samples are noise: e = 0. In noise the median is 0.35, and one packet of 400 is above 0.7; packets at 0
/// dB have 0.85 and more, CH3 at 8 dB 0.72 and more.
inline constexpr double kLeastQuality = 0.7;

inline constexpr int kCoarsePoints = 2 * kCoarse + 1;
inline constexpr int kWidest = 64;  // numbers of the longest vector: so many behind an array may be read

inline constexpr int kClockSums = 32;  // partial sums of a segment
inline constexpr int kWarpTaps = 8;
inline constexpr int kWarpBefore = 3;  // samples before the place's floor that its value takes
inline constexpr int kPhaseBits = 7;
inline constexpr int kPhases = 1 << kPhaseBits;

struct LineTurn {
  double re = 0;
  double im = 0;
};

/// What is known in advance.
struct ClockDesign {
  Clock over = Clock::off;
  std::int64_t first = 0;                    // sample of the first segment, counted from the packet's first
  std::int64_t segment = 0;                  // samples
  std::int64_t segments = 0;                 // 0: too short, e is 0
  std::int64_t line = 0;                     // samples of a turn of the line
  double middle = 0;                         // n0
  std::vector<float> band_pass;              // b(0) … b(5 s)
  std::vector<LineTurn> turns;               // exp(j pi n / s), n below `line`
  std::vector<double> coarse_re, coarse_im;  // exp(j pi half_turns) of the coarse grid; kWidest more
  std::vector<float> warp;                   // [phase 0 … kPhases][kWarpTaps]

  std::int64_t reach() const noexcept { return std::ssize(band_pass) - 1; }
};
ClockDesign make_clock(const PacketFormat& format, Clock over);

/// W_j: turns with the clock's error alone.
struct LineProduct {
  double re = 0;
  double im = 0;
};

struct ClockError {
  double error = 0;
  double quality = 0;
};

/// Half turns of z in power_of_products for an error of so many fine steps: against the turn of W from a segment to the
/// next, a turn for each bit that the clock is off.
IQD_HOST_DEVICE inline double half_turns(int fine) noexcept {
  return -2 * kFineStep * fine * kSegmentBits;
}

/// |sum W_j z^j|^2
IQD_HOST_DEVICE inline double power_of_products(const LineProduct* w, std::int64_t segments, double z_re,
                                                double z_im) noexcept {
  double re = 0, im = 0;
  for (std::int64_t j = segments - 1; j >= 0; --j) {
    const double turned = re * z_re - im * z_im;
    im = (re * z_im + im * z_re) + w[j].im;
    re = turned + w[j].re;
  }
  return re * re + im * im;
}

/// The largest that the power can be: (sum |W_j|)^2
IQD_HOST_DEVICE inline double most_power(const LineProduct* w, std::int64_t segments) noexcept {
  double sum = 0;
  for (std::int64_t j = 0; j < segments; ++j) sum += std::sqrt(w[j].re * w[j].re + w[j].im * w[j].im);
  return sum * sum;
}

/// Where the parabola through three equidistant powers has its vertex, in steps from the second, the largest.
IQD_HOST_DEVICE inline double vertex(double before, double largest, double behind) noexcept {
  const double curve = before - 2 * largest + behind;
  return curve < 0 ? 0.5 * (before - behind) / curve : 0.0;
}

/// `fine`: the maximum's place in fine steps; `most`: the sum of most_power over packets.
IQD_HOST_DEVICE inline ClockError error_of(double fine, double power, double most) noexcept {
  const double quality = most > 0 ? std::sqrt(power / most) : 0.0;
  return quality >= kLeastQuality ? ClockError{kFineStep * fine, quality} : ClockError{0, quality > 0 ? quality : 0};
}

/// Where a sample is taken, relative to its own place: `step` phases and `part` of one behind it.
struct Place {
  std::int64_t step = 0;
  double part = 0;

  IQD_HOST_DEVICE std::int64_t floor() const noexcept { return step >> kPhaseBits; }
  IQD_HOST_DEVICE std::int64_t phase() const noexcept { return step & (kPhases - 1); }
};
/// n counts from the packet's first sample.
IQD_HOST_DEVICE inline Place place_of(double error, double middle, std::int64_t n) noexcept {
  const double phases = -error * kPhases * (static_cast<double>(n) - middle);
  const double whole = std::floor(phases);
  return {static_cast<std::int64_t>(whole), phases - whole};
}

}  // namespace iqd::packet_estimator
