// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/transmit/aph_estimator/alignment.hpp"
#include "pipeline/stages/transmit/aph_estimator/normal_equations.hpp"
#include "pipeline/stages/transmit/aph_keys.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// Learns a predistorter from what was sent, z, and what a feedback receiver heard of it, s (indirect learning):
/// h = argmin |z(n) - (Psi(u) h)(n)|, u(n) = s(n + delay) / G, over the rows from 16 on. `aph_predistorter` with this h
/// sends what comes out of the transmitter as G times its input.
///
/// sent, received  [n]            cf32  of the same time; the first `samples` of a block count
/// coefficients    [coefficient]  cf32  monomial; h1 h3 … g1 g3 … c, taps inner
/// report          [value]        f32   kValues; NaN where a training did not come so far
///
/// A training that cannot be trusted is refused: then the coefficients are those that are applied now, as they were
/// given. Keeps nothing between calls.
namespace iqd::aph_estimator {

/// What became of a training. Reasons are looked for in this order.
enum class Outcome : std::uint8_t {
  trained,
  too_short,     // fewer than 1024 samples, or than 8 for each coefficient
  not_finite,    // a NaN or an infinity, or coefficients beyond a float
  silent,        // sent or received
  clipped,       // of what was received one sample in 1000 or more is at the receiver's rail
  other_signal,  // not half of what was received is what was sent, at any delay that was searched
  misaligned,    // delay or phase wander: another rate, another oscillator; or the delay is at the search's end
  poor_fit       // 1 % or more of the power is not explained
};
inline constexpr std::array<std::string_view, 8> kOutcomes{"trained", "too_short",    "not_finite", "silent",
                                                           "clipped", "other_signal", "misaligned", "poor_fit"};

inline constexpr std::array<std::string_view, 11> kValues{
    "outcome",             // its number: 0 is trained
    "delay",               // samples that s is later than z
    "gain_db",             // of G
    "phase",               // of G, radians
    "coherence",           // |<z, s>|^2 / |z|^2 |s|^2 at that delay
    "residual_before_db",  // |z - Psi(u) h|^2 / |z|^2 with the coefficients that are applied now
    "residual_after_db",   // with the new ones
    "condition_db",        // of the equations, about
    "peak",                // largest |z|: the coefficients know nothing of what is beyond
    "aclr_before_db",      // worst of adjacent channels and IM3 in what was received; where `aclr` says where they are
    "aclr_after_db",       // as far as z - Psi(u) h, which has the feedback's noise in it, lets expect
};

inline constexpr std::int64_t kFewestSamples = 1024;

struct Config {
  aph::OrderKeys orders;
  std::int64_t samples = 65536;
  std::int64_t search = 1000;
  std::optional<double> gain;
  std::vector<std::complex<double>> coefficients;
  bool measured = false;
  acpr_meter::Config aclr;

  void fields(FieldVisitor& visitor);
};

struct Report {
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Outcome outcome = Outcome::trained;
  double delay = kNan;
  std::complex<double> gain{kNan, kNan};
  double coherence = kNan;
  double before = kNan;  // ratios of powers
  double after = kNan;
  double condition = kNan;
  double peak = kNan;
  double aclr_before_db = kNan;
  double aclr_after_db = kNan;

  std::array<float, kValues.size()> values() const noexcept;
};

/// A training made ready: may be used by many threads at once, each with its own scratch.
class Trainer {
 public:
  /// Throws SetupError where there is no memory. No coefficients: what is applied now changes nothing. The rate is for
  /// `aclr`.
  explicit Trainer(const Config& config, double rate_hz = 0);
  static std::size_t scratch_bytes(const Config& config) noexcept;
  /// Both of the same length.
  Report train(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
               std::byte* scratch) const noexcept;

 private:
  struct Fit;
  struct Work;
  static Work work_in(std::byte* scratch, const AphOrders& orders, std::int64_t samples) noexcept;
  Outcome look(std::span<const cf32> sent, std::span<const cf32> received) const noexcept;
  Fit fit(std::span<const cf32> sent, std::span<const cf32> received, double delay, cf32* coefficients,
          const Work& work) const noexcept;
  Fit choose_fit(std::span<const cf32> sent, std::span<const cf32> received, double delay, std::span<cf32> coefficients,
                 const Work& work) const noexcept;
  double residual(std::span<const cf32> sent, std::span<const std::complex<double>> u, const cf32* coefficients,
                  cf32* errors = nullptr) const noexcept;
  void measure(const Fit& fit, const cf32* coefficients, const Work& work, Report& report) const noexcept;

  AphOrders orders_;
  std::int64_t samples_;
  std::optional<double> gain_;
  std::vector<cf32> applied_;
  Aligner aligner_;
  NormalEquations equations_;
  std::optional<acpr_meter::Meter> meter_;
};

}  // namespace iqd::aph_estimator
