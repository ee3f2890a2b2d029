// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/fault_injector.hpp"

#include <SoapySDR/Errors.h>

#include <chrono>
#include <thread>

namespace iqd::sim {
namespace {

using std::chrono::microseconds;
using std::this_thread::sleep_for;

}  // namespace

void hang() {
  for (;;) sleep_for(std::chrono::hours(1));
}

int FaultInjector::trigger(Stream& rx, SampleClock& clock, long timeout_us) {
  for (;;) {
    if (unplugged_) return SOAPY_SDR_STREAM_ERROR;
    if (SampleClock::Steady::now() < stalled_until_) {
      sleep_for(microseconds(timeout_us));
      return SOAPY_SDR_TIMEOUT;
    }
    const Fault fault = faults_->take(rx.next);
    switch (fault.kind) {
      case Fault::Kind::none: return 0;
      case Fault::Kind::overflow: rx.next += fault.lost; return SOAPY_SDR_OVERFLOW;
      case Fault::Kind::late: rx.next += fault.lost; return SOAPY_SDR_TIME_ERROR;
      case Fault::Kind::loss: rx.next += fault.lost; break;
      case Fault::Kind::hang_close: hangs_when_closed_ = true; break;
      case Fault::Kind::jump: clock.jump(fault.seconds); break;
      case Fault::Kind::disconnect: unplugged_ = true; break;
      case Fault::Kind::hang: hang();
      case Fault::Kind::stall:
        stalled_until_ = SampleClock::Steady::now() + microseconds(static_cast<std::int64_t>(fault.seconds * 1e6));
        break;
    }
  }
}

}  // namespace iqd::sim
