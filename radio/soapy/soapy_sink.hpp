// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/soapy/open_radio.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// When samples are transmitted.
struct Timing {
  bool timed = false;  // at their own time stamp and `delay_s`, else as soon as they come
  double delay_s = 0.1;
};

/// Transmits `[n]` or `[channel][n]` through any SoapySDR module.
class SoapySink final : public Sink {
 public:
  SoapySink(const Settings& settings, const Timing& timing, Element element);
  /// Waits while the radio's buffer is full. False where the samples came too late, or none were taken for a second.
  bool send(const Message& message) override;
  /// Ends the burst and waits until it is on the air, a second at most.
  void finish() override;
  void interrupt() noexcept override { interrupted_ = true; }

  /// How often the radio ran out of samples, as far as the module tells.
  std::uint64_t underflows() const noexcept { return underflows_; }

 private:
  bool write(std::int64_t samples, int flags, std::int64_t time_ns);
  void advance(std::int64_t samples) noexcept;
  void read_status();
  void note_underflow();

  OpenRadio radio_;
  Timing timing_;
  std::size_t sample_bytes_;
  std::vector<const void*> buffers_;
  bool has_status_ = true;
  bool burst_ended_ = false;
  std::uint64_t underflows_ = 0;
  log::RateLimit limit_;
  std::atomic<bool> interrupted_{false};
};

class SoapySinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;

 private:
  Settings settings_;
  Timing timing_;
};

}  // namespace iqd::radio::soapy
