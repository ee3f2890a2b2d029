// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/element.hpp"

namespace iqd {

/// A test signal for transmitters: carriers as in an LTE uplink (SC-FDMA of TS 36.211 with random 16-QAM points, normal
/// cyclic prefix, no reference symbols), each with its own data, all of the same power.
///
/// It repeats after four subframes, 60 / (subcarrier spacing) seconds: 4 ms with 15 kHz. Being periodic, it is a
/// Fourier series: it can be generated at any rate that holds it, and outside of a carrier's bandwidth there is only
/// rounding, 120 dB down. Frequencies are rounded to whole turns per period, the period to whole samples.
struct UplinkWaveform {
  std::int64_t subcarriers = 600;            // per carrier, up to 900: 600 fill 10 MHz, 180 fill 3 MHz
  double bandwidth_hz = 10e6;                // per carrier; 9/10 of it are filled
  std::vector<double> frequencies_hz = {0};  // of carriers, from the centre
  double rate_hz = 61.44e6;
  double rms = 0.27;       // of all carriers together
  std::uint64_t seed = 4;  // peaks of 8.1 dB, and of 9.1 with two carriers of 3 MHz 10 MHz apart

  double spacing_hz() const noexcept { return 0.9 * bandwidth_hz / static_cast<double>(subcarriers); }
  /// Samples per repetition.
  std::int64_t period() const noexcept;
  /// Carriers outside of the rate, or a period of more than 2^24 samples; empty if nothing is wrong.
  std::string fault() const;
  /// One period. Requires a waveform without faults.
  std::vector<cf32> make() const;
};

}  // namespace iqd
