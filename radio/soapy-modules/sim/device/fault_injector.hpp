// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "radio/soapy-modules/sim/device/faults.hpp"
#include "radio/soapy-modules/sim/device/sample_clock.hpp"
#include "radio/soapy-modules/sim/device/stream.hpp"

namespace iqd::sim {

/// Never returns.
[[noreturn]] void hang();

/// Lets the faults of the device arguments happen when the receiver reaches their positions: samples are lost, the
/// device stalls, its clock jumps, it is unplugged, or a call hangs. The receiving thread, except where noted.
class FaultInjector {
 public:
  /// Positions begin at 0 again. An unplugged device stays unplugged.
  void start(const Arguments& arguments, double rate_hz) { faults_.emplace(arguments, rate_hz); }
  /// Ends a stall.
  void resume() noexcept { stalled_until_ = {}; }
  /// Triggers the faults that are due at the next sample. Returns a Soapy error code, or 0 if samples may be read.
  int trigger(Stream& rx, SampleClock& clock, long timeout_us);
  /// How many samples from position `next` on can be read before the next fault.
  std::int64_t clear_until(std::int64_t next) const noexcept { return faults_->clear_until(next); }

  /// Any thread.
  bool is_unplugged() const noexcept { return unplugged_; }
  /// Any thread: whether closing a stream must not return.
  bool hangs_when_closed() const noexcept { return hangs_when_closed_; }

 private:
  std::optional<Faults> faults_;
  std::atomic<bool> unplugged_{false};
  std::atomic<bool> hangs_when_closed_{false};
  SampleClock::Steady::time_point stalled_until_{};
};

}  // namespace iqd::sim
