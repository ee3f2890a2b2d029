// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/element.hpp"

namespace iqd {

/// A signal to try transmitters with: carriers as an LTE uplink has them (SC-FDMA of TS 36.211 with random 16-QAM
/// points, normal cyclic prefix, no reference symbols), each with data of its own, all of the same power.
///
/// It comes again after four subframes, 60 / (distance of subcarriers) seconds: 4 ms with 15 kHz. As it is periodic it
/// is a Fourier series, so it can be had at any rate that holds it, and beside a carrier's bandwidth there is nothing
/// but rounding, 120 dB down. Frequencies are rounded to whole turns of the period, the period to whole samples.
struct UplinkWaveform {
  std::int64_t subcarriers = 600;            // of a carrier, up to 900: 600 fill 10 MHz, 180 fill 3 MHz
  double bandwidth_hz = 10e6;                // of a carrier; 9/10 of it are filled
  std::vector<double> frequencies_hz = {0};  // of carriers, from the centre
  double rate_hz = 61.44e6;
  double rms = 0.27;       // of all carriers together
  std::uint64_t seed = 4;  // peaks of 8.1 dB, and of 9.1 where two carriers of 3 MHz lie 10 MHz apart

  double spacing_hz() const noexcept { return 0.9 * bandwidth_hz / static_cast<double>(subcarriers); }
  /// Samples until it comes again.
  std::int64_t period() const noexcept;
  /// Carriers that the rate does not hold, or a period of more than 2^24 samples; empty where nothing is wrong.
  std::string fault() const;
  /// One period. The waveform is free of faults.
  std::vector<cf32> make() const;
};

}  // namespace iqd
