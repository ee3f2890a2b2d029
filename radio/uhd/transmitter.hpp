// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/driver.hpp"
#include "radio/transmit_counters.hpp"
#include "radio/transmit_watch.hpp"
#include "radio/uhd/burst_stream.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

/// The transmit channels of a USRP. They are on only while samples come: before the first sample, half a second after
/// the last, and at the end, there is no burst and the gain is the lowest. A thread switches them off, takes the
/// device's events, and releases a device that others have given up.
class Transmitter {
 public:
  Transmitter(const Settings& settings, const Timing& timing, Element element);
  ~Transmitter();

  /// Waits while the radio's buffer is full. Returns false if it took no samples for a second. Throws SetupError if the
  /// device is gone.
  bool send(const Message& message);
  /// Ends the burst, and waits at most two seconds until it has been sent.
  void finish();
  SinkCounts counts() const noexcept { return counters_.counts(); }
  /// Constant; any thread.
  const DeviceKeys& keys() const noexcept { return front_end_.keys(); }
  void interrupt() noexcept { interrupted_ = true; }
  const std::string& name() const noexcept { return name_; }
  /// Call before closing the device: from now on, nobody else gets it.
  void leave() noexcept { front_end_.leave(); }

 private:
  std::optional<uhd::time_spec_t> start_of(const Message& message) const;
  void give_up(const std::string& why);
  void guard(const std::stop_token& stopped);
  void let_go();
  void look_after();
  void take_event(const uhd::async_metadata_t& event);

  FrontEnd front_end_;
  const std::string name_;
  Timing timing_;

  std::timed_mutex mutex_;  // protects all members up to the counters, between send() and the guard
  BurstStream stream_;
  bool on_ = false;
  TransmitWatch watch_;
  std::string gone_;  // why it is gone

  TransmitCounters counters_;
  std::atomic<bool> interrupted_{false};
  std::jthread guard_;
};

}  // namespace iqd::radio::usrp
