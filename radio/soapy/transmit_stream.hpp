// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/driver.hpp"
#include "radio/sample_rows.hpp"
#include "radio/soapy/device_stream.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// An open device that transmits. While it is on, its stream is active and it has the requested gain; otherwise the
/// gain is the lowest, and after `switch_off` the stream is stopped. One thread at a time.
class TransmitStream {
 public:
  /// `settings` must outlive it. Throws SetupError, also if the device was granted values that are not permitted.
  TransmitStream(const Settings& settings, const Timing& timing, Element element);

  /// Throws SetupError.
  void switch_on();
  /// Ends the burst, if it is on. Throws SetupError.
  void switch_off();
  void quieten() { radio_.quieten(settings_); }
  bool is_on() const noexcept { return on_; }
  bool is_active() const noexcept { return active_; }

  /// Takes the next message, and returns how many samples each channel has.
  std::int64_t start(const Message& message) noexcept { return rows_.start(message); }
  /// Sends up to `left` of the message's next samples, which go out at `time_ns` if the flags say so. Returns how many
  /// the module took, or its error. Throws if it claims to have taken more.
  int write(std::int64_t left, int flags, std::int64_t time_ns);
  void end_burst();

  DeviceStream& radio() noexcept { return radio_; }

 private:
  const Settings& settings_;
  DeviceStream radio_;
  SampleRows rows_;
  bool active_ = false;
  bool on_ = false;
};

}  // namespace iqd::radio::soapy
