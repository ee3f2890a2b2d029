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

/// Transmits `[n]` or `[channel][n]` through any SoapySDR module.
class SoapySink final : public Sink {
 public:
  SoapySink(const Settings& settings, const Timing& timing, Element element);
  /// Waits while the radio's buffer is full. False where the samples came too late, or none were taken for a second.
  bool send(const Message& message) override;
  /// Ends the burst and waits until it is on the air, a second at most.
  void finish() override;
  /// As far as the module tells.
  SinkCounts counts() const noexcept override { return {underflows_, late_, 0}; }
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  bool write(std::int64_t samples, int flags, std::int64_t time_ns);
  void advance(std::int64_t samples) noexcept;
  void read_status();
  void note(std::atomic<std::uint64_t>& count, std::string_view what);

  OpenRadio radio_;
  Timing timing_;
  std::size_t sample_bytes_;
  std::vector<const void*> buffers_;
  bool has_status_ = true;
  bool burst_ended_ = false;
  std::atomic<std::uint64_t> underflows_{0};
  std::atomic<std::uint64_t> late_{0};
  log::RateLimit limit_;
  std::atomic<bool> interrupted_{false};
};

class SoapySinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  std::vector<std::string> claims() const override { return settings_.claims("soapy", false); }

 private:
  Settings settings_;
  Timing timing_;
};

}  // namespace iqd::radio::soapy
