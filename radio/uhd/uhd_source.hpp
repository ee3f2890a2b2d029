// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

/// Maps an error of `recv` to an event: lost or damaged packets are `sequence`, a time-out is `nothing`, a failed
/// command is `late`; an overflow, and channels that cannot be aligned, are `overflow`.
Received::Event event_of(const uhd::rx_metadata_t& error) noexcept;

/// How many of `count` samples from `time_ns` on lie before `due_ns`, the time of the next expected one: the network
/// delivered their packet late, or twice. 0 if they are so old that the clock must have been set.
std::int64_t stale_samples(std::int64_t time_ns, std::int64_t due_ns, std::int64_t count, double rate_hz) noexcept;

/// The first full second after `earliest`.
uhd::time_spec_t next_second(const uhd::time_spec_t& earliest) noexcept;

/// Samples of a USRP, or of several in step. A late command or a broken chain ends the stream, so it is requested
/// again. Exceptions of libuhd are `failed`. If the device's clock could not be set, its time stamps are shifted to
/// host time once, at the first.
class UhdSource final : public Source {
 public:
  UhdSource(const Settings& settings, Element element);
  /// Gives up the device for all who share it if it failed, or if it was silent for the last seconds.
  ~UhdSource() override;
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  std::optional<std::int64_t> retune(const SourceOptions& options) override;
  DeviceKeys device_keys() const override { return front_end_->keys(); }

 private:
  void start();
  Received samples(std::int64_t count, const uhd::rx_metadata_t& metadata);
  std::int64_t leave_out_stale(std::int64_t count, std::int64_t time_ns);
  std::int64_t ns_of_samples(std::int64_t count) const;
  Received error(const uhd::rx_metadata_t& metadata);
  void warn(std::string_view what, std::string_view why);

  std::shared_ptr<FrontEnd> front_end_;
  Element element_;
  std::int64_t most_;  // per call
  uhd::rx_streamer::sptr stream_;
  std::vector<void*> buffers_;
  bool started_ = false;
  bool failed_ = false;
  std::int64_t last_ns_ = 0;  // steady clock, time of the last samples
  bool time_begun_ = false;
  std::int64_t time_offset_ns_ = 0;
  std::optional<std::int64_t> timed_ns_;  // device clock, last sample with a time stamp…
  std::int64_t since_timed_ = 0;          // …and how many samples after it the next one comes
  log::RateLimit limit_;
};

}  // namespace iqd::radio::usrp
