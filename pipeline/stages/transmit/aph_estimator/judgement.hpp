// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stages/transmit/aph_estimator/alignment.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// Criteria for a training, and its report: the same on every backend.
namespace iqd::aph_estimator {

/// The outcome of a training. Reasons to refuse it are checked in this order; after `clipped`, whether it is needed.
enum class Outcome : std::uint8_t {
  trained,
  good_enough,   // the measured ACLR is not worse than `above`
  too_short,     // fewer than 1024 samples, or than 8 for each coefficient
  not_finite,    // a NaN or an infinity, or coefficients beyond a float
  silent,        // sent or received
  clipped,       // one received sample in 1000 or more is at the receiver's rail
  other_signal,  // less than half of the received power is explained by the sent signal, at any delay searched
  misaligned,    // delay or phase wander: another rate or oscillator; or the delay is at the end of the search
  poor_fit       // 1 % or more of the power is not explained
};
inline constexpr std::array<std::string_view, 9> kOutcomes{
    "trained", "good_enough", "too_short", "not_finite", "silent", "clipped", "other_signal", "misaligned", "poor_fit"};

inline constexpr std::array<std::string_view, 11> kValues{
    "outcome",             // its number: 0 is trained
    "delay",               // samples that s is later than z
    "gain_db",             // of G
    "phase",               // of G, radians
    "coherence",           // |<z, s>|^2 / |z|^2 |s|^2 at that delay
    "residual_before_db",  // |z - Psi(u) h|^2 / |z|^2 with the coefficients that are applied now
    "residual_after_db",   // of the equations, approximate
    "condition_db",        // of the equations, about
    "peak",                // largest |z|; the coefficients are undefined beyond it
    "aclr_before_db",      // worst of adjacent channels and IM3 in the received signal; with `aclr`
    "aclr_after_db",       // estimated from z - Psi(u) h, which contains the feedback's noise
};

inline constexpr std::int64_t kFewestSamples = 1024;
inline constexpr std::int64_t kSkipped = 16;  // rows; the transmitter's memory of earlier samples has ended by then
inline constexpr double kSilence = 1e-14;     // power: -140 dB of full scale
inline constexpr double kRail = 1 - 0x1p-12;  // of the largest part, for converters of 12 bits and more
inline constexpr double kCoherence = 0.5;
inline constexpr double kDrift = 0.05;  // samples between the halves: of 65536 samples, 1.5 ppm
inline constexpr double kTurn = 0.1;    // radians
inline constexpr double kPoor = 0.01;
inline constexpr double kNearlyWhole = 0.1;  // samples
inline constexpr double kClearlyBetter = 0.9;

struct Report {
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Outcome outcome = Outcome::trained;
  bool has_coefficients = false;
  double delay = kNan;
  std::complex<double> gain{kNan, kNan};
  double coherence = kNan;
  double before = kNan;  // ratios of powers
  double after = kNan;
  double condition = kNan;
  double peak = kNan;
  double aclr_before_db = kNan;
  double aclr_after_db = kNan;

  /// No reason to stop so far.
  IQD_HOST_DEVICE bool goes_on() const noexcept { return outcome == Outcome::trained; }
  IQD_HOST_DEVICE bool is_refused() const noexcept { return outcome > Outcome::good_enough; }
  /// By kValues.
  IQD_HOST_DEVICE void write(float* values) const noexcept {
    const auto decibels = [](double ratio) { return ratio < 1e-30 ? -300 : 10 * log10(ratio); };  // NaN stays
    const double all[] = {static_cast<double>(outcome),
                          delay,
                          decibels(gain.real() * gain.real() + gain.imag() * gain.imag()),
                          atan2(gain.imag(), gain.real()),
                          coherence,
                          decibels(before),
                          decibels(after),
                          decibels(condition),
                          peak,
                          aclr_before_db,
                          aclr_after_db};
    static_assert(sizeof all / sizeof all[0] == kValues.size());
    for (const double v : all) *values++ = static_cast<float>(v);
  }
};

/// A first look at both signals.
struct Seen {
  double z_energy = 0, s_energy = 0;
  double peak = Report::kNan;  // |z|^2
  double largest = 0;          // part in s

  IQD_HOST_DEVICE void add(cf32 z, cf32 s) noexcept {
    const double zr = z.real(), zi = z.imag(), sr = s.real(), si = s.imag();
    const double z_power = zr * zr + zi * zi;
    z_energy += z_power;
    s_energy += sr * sr + si * si;
    peak = fmax(peak, z_power);
    largest = fmax(largest, fmax(fabs(sr), fabs(si)));
  }
  IQD_HOST_DEVICE Seen& operator+=(const Seen& o) noexcept {
    z_energy += o.z_energy;
    s_energy += o.s_energy;
    peak = fmax(peak, o.peak);
    largest = fmax(largest, o.largest);
    return *this;
  }
};
IQD_HOST_DEVICE inline bool is_at_rail(cf32 s, double largest) noexcept {
  const auto rail = static_cast<float>(largest * kRail);
  return fabsf(s.real()) >= rail || fabsf(s.imag()) >= rail;
}

IQD_HOST_DEVICE inline void judge(const Seen& seen, std::int64_t at_rail, std::int64_t n, int coefficients,
                                  Report& report) noexcept {
  const auto samples = static_cast<double>(n);
  report.peak = sqrt(seen.peak);
  if (n < kFewestSamples || n < 8 * coefficients)
    report.outcome = Outcome::too_short;
  else if (!std::isfinite(seen.z_energy) || !std::isfinite(seen.s_energy))
    report.outcome = Outcome::not_finite;
  else if (seen.z_energy < kSilence * samples || seen.s_energy < kSilence * samples)
    report.outcome = Outcome::silent;
  else if (at_rail * 1000 >= n)
    report.outcome = Outcome::clipped;
}

/// Adjacent channels and third-order intermodulation, one bit each.
inline constexpr unsigned kNearLevels = [] {
  unsigned bits = 0;
  for (std::size_t l = 0; l < acpr_meter::kLevels.size(); ++l) {
    const std::string_view level = acpr_meter::kLevels[l];
    if (level.starts_with("adjacent") || level.starts_with("im3")) bits |= 1u << l;
  }
  return bits;
}();
/// The worst of these; NaN if none can be measured.
IQD_HOST_DEVICE inline double aclr_of(const float* levels) noexcept {
  double worst = Report::kNan;
  for (unsigned l = 0; l < acpr_meter::kLevels.size(); ++l)
    if (kNearLevels >> l & 1) worst = fmax(worst, levels[l]);
  return worst;
}
/// The predistorter's error appears beside the carriers as it is. `wrong` has the levels of the error in `rows` of n
/// samples.
IQD_HOST_DEVICE inline double aclr_expected(const float* wrong, const float* sent, std::int64_t rows,
                                            std::int64_t n) noexcept {
  const double share = static_cast<double>(rows) / static_cast<double>(n);
  return aclr_of(wrong) + wrong[0] - sent[0] - 10 * log10(share);  // [0]: the carrier
}

/// `above` is NaN if not set.
IQD_HOST_DEVICE inline void judge_need(double aclr_db, double above, Report& report) noexcept {
  report.aclr_before_db = aclr_db;
  if (aclr_db <= above) report.outcome = Outcome::good_enough;
}

IQD_HOST_DEVICE inline void judge(const Alignment& found, Report& report) noexcept {
  report.coherence = found.coherence;
  if (!found.inside) {
    report.outcome = Outcome::misaligned;
  } else if (!(found.coherence >= kCoherence)) {
    report.outcome = Outcome::other_signal;
  } else {
    report.delay = found.delay;
    if (fabs(found.drift) > kDrift || fabs(found.turn) > kTurn) report.outcome = Outcome::misaligned;
  }
}

/// Coefficients, and their quality.
struct Fit {
  Complex64 gain;
  double condition = Report::kNan;
  double after = Report::kNan;
  bool found = false;
};

/// Memory of the transmitter looks like a small delay. If the true delay may be whole, that memory is left to the taps,
/// unless the result is worse: resampling would turn a part of it into future samples, which the taps do not see.
IQD_HOST_DEVICE inline bool is_nearly_whole(double delay) noexcept {
  return fabs(round(delay) - delay) <= kNearlyWhole;
}
IQD_HOST_DEVICE inline bool is_whole(const Fit& whole, const Fit& between) noexcept {
  return whole.found && !(between.after < kClearlyBetter * whole.after);
}

IQD_HOST_DEVICE inline void judge(const Fit& fit, Report& report) noexcept {
  report.gain = std::complex<double>(fit.gain);
  report.condition = fit.condition;
  if (!fit.found) {
    report.outcome = Outcome::not_finite;
    return;
  }
  report.after = fit.after;
  if (!(fit.after < kPoor)) report.outcome = Outcome::poor_fit;
}

}  // namespace iqd::aph_estimator
