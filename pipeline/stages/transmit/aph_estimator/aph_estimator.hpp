// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/transmit/aph_estimator/alignment.hpp"
#include "pipeline/stages/transmit/aph_estimator/judgement.hpp"
#include "pipeline/stages/transmit/aph_estimator/normal_equations.hpp"
#include "pipeline/stages/transmit/aph_estimator/setup.hpp"
#include "pipeline/stages/transmit/aph_keys.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// Learns a predistorter from the sent signal, z, and the signal of a feedback receiver, s (indirect learning): h =
/// argmin |z(n) - (Psi(u) h)(n)|, u(n) = s(n + delay) / G, over the rows from 16 on. With this h, `aph_predistorter`
/// makes the transmitter's output G times its input.
///
/// sent, received  [n]            cf32  of the same time; only the first `samples` of a block count
/// coefficients    [coefficient]  cf32  monomial; h1 h3 … g1 g3 … c, taps inner; or none
/// report          [value]        f32   kValues; NaN if a training did not get that far
///
/// An unreliable training is refused: then the output is the coefficients applied now, or none if these were not
/// configured. None are output either if the received signal is good enough. Keeps nothing between calls.
namespace iqd::aph_estimator {

struct Config {
  aph::OrderKeys orders;
  std::int64_t samples = 65536;
  std::int64_t search = 1000;
  std::optional<double> gain;
  std::vector<std::complex<double>> coefficients;
  std::optional<double> above;  // dB; needs `measured`
  bool measured = false;
  acpr_meter::Config aclr;

  void fields(FieldVisitor& visitor);
};

/// The rate is for `aclr`.
Setup setup_of(const Config& config, double rate_hz);

/// A training that is ready for use by many threads at once, each with its own scratch.
class Trainer {
 public:
  /// Throws SetupError if memory is short. No coefficients: the identity is applied now.
  explicit Trainer(const Config& config, double rate_hz = 0);
  static std::size_t scratch_bytes(const Config& config) noexcept;
  /// Both of the same length. If the report says that there are none, `coefficients` is meaningless.
  Report train(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
               std::byte* scratch) const noexcept;

 private:
  struct Trial;
  struct Work;
  Report learn(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
               const Work& work) const noexcept;
  void look(std::span<const cf32> sent, std::span<const cf32> received, Report& report) const noexcept;
  Trial fit(std::span<const cf32> sent, std::span<const cf32> received, double delay, cf32* coefficients,
            const Work& work) const noexcept;
  Trial choose(std::span<const cf32> sent, std::span<const cf32> received, double delay, std::span<cf32> coefficients,
               const Work& work) const noexcept;
  double residual(std::span<const cf32> sent, std::span<const Complex64> u, const cf32* coefficients,
                  cf32* errors = nullptr) const noexcept;
  double aclr_before(std::span<const cf32> received, const Work& work) const noexcept;
  double aclr_after(std::span<const cf32> sent, const Trial& trial, const cf32* coefficients,
                    const Work& work) const noexcept;

  Setup setup_;
  Aligner aligner_;
  NormalEquations equations_;
  std::optional<acpr_meter::Meter> meter_;
};

}  // namespace iqd::aph_estimator
