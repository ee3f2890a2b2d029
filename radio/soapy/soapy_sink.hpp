// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/driver.hpp"
#include "radio/soapy/settings.hpp"
#include "radio/soapy/transmit_status.hpp"
#include "radio/soapy/transmit_stream.hpp"
#include "radio/transmit_counters.hpp"
#include "radio/transmit_watch.hpp"

namespace iqd::radio::soapy {

/// Transmits `[n]` or `[channel][n]` through any SoapySDR module. It is on only while samples come: if it was given a
/// gain, the gain is the lowest before the first sample, half a second after the last, and at the end. Its stream stops
/// after half a second without samples. A thread does that, and releases a device that others have found gone.
class SoapySink final : public Sink {
 public:
  SoapySink(const Settings& settings, const Timing& timing, Element element);
  ~SoapySink() override;
  /// Waits while the radio's buffer is full. Returns false if the samples were late, or if none were taken for a
  /// second.
  /// Throws if none were taken for five seconds.
  bool send(const Message& message) override;
  /// Ends the burst, and waits at most a second until it has been sent.
  void finish() override;
  /// As far as the module reports them.
  SinkCounts counts() const noexcept override { return counters_.counts(); }
  DeviceKeys device_keys() const override { return keys_; }
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  void open();
  void guard(const std::stop_token& stopped);
  void look_after();
  bool transmit(const Message& message);
  bool write(std::int64_t samples, int flags, std::int64_t time_ns);
  void refused();

  const Settings settings_;
  const Timing timing_;
  const Element element_;
  const std::string name_;
  TransmitCounters counters_;
  DeviceKeys keys_;  // constant once it is open

  std::timed_mutex mutex_;  // protects the following up to the status, between send() and the guard
  std::unique_ptr<TransmitStream> stream_;
  TransmitWatch watch_;
  std::int64_t on_air_until_ns_ = 0;  // steady clock, end of what was written, if the radio buffers it
  TransmitStatus status_;

  std::atomic<bool> interrupted_{false};
  std::jthread guard_;
};

class SoapySinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  Claims claims() const override { return settings_.claims("soapy", false); }
  std::optional<RadioRequest> radio() const override { return settings_.request(); }
  bool reconnects() const override { return true; }

 private:
  Settings settings_;
  Timing timing_;
};

}  // namespace iqd::radio::soapy
