// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"

namespace iqd::sim {

/// How a narrowband signal reaches the receiver: its level, a carrier offset (`offset`, `phase`), the transmitter's
/// clock error (`ppm`), and noise. It may start late (`start`).
class Reception {
 public:
  /// `noise_db`: power of a sample's noise relative to the signal; empty: no noise.
  Reception(const Setting& setting, std::optional<double> noise_db);

  /// The transmitter's time at sample n, in seconds since it began; may be negative.
  double time_at(std::int64_t n) const noexcept { return static_cast<double>(n - start_) * step_s_; }
  /// Seconds from sample to sample, by the transmitter's clock.
  double step_s() const noexcept { return step_s_; }
  /// Turns what is sent, with power 1, into what is received.
  void receive(int channel, std::int64_t first, std::span<cf32> x);

 private:
  std::int64_t start_;
  double step_s_;
  double amplitude_;
  double phase_cycles_;
  Tone carrier_;
  std::vector<cf32> carrier_at_;
  std::shared_ptr<const Noise> noise_;
  float noise_amplitude_ = 0;
};

/// The noise relative to the signal from `snr`: dB, in the whole sampling bandwidth.
std::optional<double> noise_of_snr(const Arguments& arguments);

/// The value of `key`, which must be above 0 and at most `most`.
double positive(const Arguments& arguments, const std::string& key, double otherwise, double most);

}  // namespace iqd::sim
