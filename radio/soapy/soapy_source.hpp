// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/soapy/device_stream.hpp"
#include "radio/soapy/direct_buffers.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Samples from any SoapySDR module. Results of the module become events: an overflow, a damaged packet (`sequence`)
/// and a time error (`late`) do not end the stream, and a time-out is `nothing`; every other error, an exception, or
/// more samples than requested throws. Time stamps that count from the radio's own start are shifted to host time once,
/// at the first. If a module marks bursts, with time stamps and END_BURST, each burst ends a piece, and the samples
/// missing before the next one are `lost`; one time stamp per burst is enough.
class SoapySource final : public Source {
 public:
  SoapySource(const Settings& settings, Element element);
  ~SoapySource() override;
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  std::optional<std::int64_t> retune(const SourceOptions& options) override;
  DeviceKeys device_keys() const override { return radio_.keys(); }

 private:
  int read(std::size_t most, int& flags, long long& time_ns);
  Received samples(int count, int flags, std::int64_t time_ns);
  Received none() const;
  std::int64_t samples_of(std::int64_t ns) const noexcept;
  std::int64_t ns_of(std::int64_t samples) const noexcept;
  Received error(int code);
  void warn(std::string_view what, std::string_view why);

  DeviceStream radio_;
  std::unique_ptr<DirectBuffers> direct_;
  Element element_;
  std::vector<void*> buffers_;
  bool started_ = false;
  bool time_begun_ = false;
  std::int64_t time_offset_ns_ = 0;
  std::optional<std::int64_t> stamp_ns_;  // the last valid time stamp, and the samples since
  std::int64_t since_stamp_ = 0;
  bool between_bursts_ = false;
  int errors_ = 0;            // consecutive
  std::int64_t last_ns_ = 0;  // steady clock, time of the last samples
  log::RateLimit limit_;
};

class SoapySourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;
  Claims claims() const override { return settings_.claims("soapy", true); }
  std::optional<RadioRequest> radio() const override { return reception_.request(settings_.request()); }
  std::string calibration() const override { return reception_.calibration; }
  const Settings& settings() const noexcept { return settings_; }

 private:
  Settings settings_;
  Reception reception_;
};

}  // namespace iqd::radio::soapy
