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
#include "base/log.hpp"
#include "radio/soapy/device_stream.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Transmits `[n]` or `[channel][n]` through any SoapySDR module. It is on only while samples come: where it was given
/// a gain, that is the lowest there is before the first, half a second after the last, and from the end on; and its
/// stream is stopped when none came for half a second. A thread of its own sees to that, and lets go of a device that
/// others have found gone.
class SoapySink final : public Sink {
 public:
  SoapySink(const Settings& settings, const Timing& timing, Element element);
  ~SoapySink() override;
  /// Waits while the radio's buffer is full. False where the samples came too late, or none were taken for a second.
  /// Throws where none were for five.
  bool send(const Message& message) override;
  /// Ends the burst and waits until it is on the air, a second at most.
  void finish() override;
  /// As far as the module tells.
  SinkCounts counts() const noexcept override { return {underflows_, late_, 0}; }
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  void open();
  void switch_on();
  void switch_off();
  void end_burst();
  void guard();
  void look_after();
  bool transmit(const Message& message);
  void refused();
  bool write(std::int64_t samples, int flags, std::int64_t time_ns);
  void advance(std::int64_t samples) noexcept;
  void read_status();
  void take_status();
  void note(std::atomic<std::uint64_t>& count, std::string_view what);

  const Settings settings_;
  const Timing timing_;
  const Element element_;
  const std::string name_;

  std::timed_mutex mutex_;  // of all up to the counts, between whoever sends and the guard
  std::unique_ptr<DeviceStream> radio_;
  std::vector<const void*> buffers_;
  bool active_ = false;               // its stream
  bool on_ = false;                   // it has the gain that was asked for
  std::int64_t sent_ns_ = 0;          // steady clock, when somebody last had samples
  std::int64_t refused_ns_ = 0;       // since then none were taken; 0: they are
  std::int64_t on_air_until_ns_ = 0;  // steady clock, what was written, where the radio has a buffer for it
  bool has_status_ = true;
  bool burst_ended_ = false;

  std::atomic<std::uint64_t> underflows_{0};
  std::atomic<std::uint64_t> late_{0};
  log::RateLimit limit_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> ends_{false};
  std::thread guard_;
};

class SoapySinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  std::vector<std::string> claims() const override { return settings_.claims("soapy", false); }
  std::optional<RadioRequest> radio() const override { return settings_.request(); }
  bool reconnects() const override { return true; }

 private:
  Settings settings_;
  Timing timing_;
};

}  // namespace iqd::radio::soapy
