// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/soapy/device_stream.hpp"
#include "radio/transmit_counters.hpp"

namespace iqd::radio::soapy {

/// Takes a module's status reports about transmitted samples, and counts the problems. One thread at a time.
class TransmitStatus {
 public:
  explicit TransmitStatus(TransmitCounters& counters) : counters_(counters) {}

  /// Takes the pending reports. If that fails, the module has no reports from then on; its samples may still be sent.
  void read(DeviceStream& radio);
  bool is_supported() const noexcept { return supported_; }
  /// From now on, waits for the end of a burst.
  void await_end() noexcept { burst_ended_ = false; }
  bool is_awaiting_end() const noexcept { return supported_ && !burst_ended_; }

 private:
  void take(DeviceStream& radio);

  TransmitCounters& counters_;
  bool supported_ = true;
  bool burst_ended_ = false;
};

}  // namespace iqd::radio::soapy
