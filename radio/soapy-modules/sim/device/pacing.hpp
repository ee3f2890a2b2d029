// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "radio/soapy-modules/sim/device/sample_clock.hpp"
#include "radio/soapy-modules/sim/device/stream.hpp"

namespace iqd::sim {

/// How far a program may be behind the hardware when it receives, and ahead of it when it transmits. Paced, samples pass
/// at the sample rate; otherwise as fast as the program reads and writes. Constant, for any thread.
class Pacing {
 public:
  /// `buffer_s`: seconds of received samples that wait for the program.
  Pacing(bool paced, double buffer_s) : paced_(paced), buffer_s_(buffer_s) {}

  bool is_paced() const noexcept { return paced_; }
  double buffer_s() const noexcept { return buffer_s_; }
  /// Samples that a program may write before they are sent.
  std::int64_t transmit_buffer(double rate_hz) const noexcept;
  /// Paced, waits for a packet's worth of samples, then limits `samples` to those available. Moves rx.next past a
  /// buffer that has overflowed. Returns 0 or a Soapy error code.
  int wait_for_samples(Stream& rx, const SampleClock& clock, double rate_hz, long timeout_us,
                       std::int64_t& samples) const;

 private:
  bool paced_;
  double buffer_s_;
};

}  // namespace iqd::sim
