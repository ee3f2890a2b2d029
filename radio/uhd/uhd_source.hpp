// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

/// What an error of `recv` is to the engine: packets that were lost or damaged on the way are `sequence`, a time-out is
/// `nothing`, a command that came to nothing is `late`; an overflow, and channels that cannot be aligned, are
/// `overflow`.
Received::Event event_of(const uhd::rx_metadata_t& error) noexcept;

/// How many of `count` samples from `time_ns` on lie before `due_ns`, when the next one is due: the network gave their
/// packet late, or twice. 0 where they are that far back that the clock must have been set.
std::int64_t stale_samples(std::int64_t time_ns, std::int64_t due_ns, std::int64_t count, double rate_hz) noexcept;

/// The first full second after `earliest`.
uhd::time_spec_t next_second(const uhd::time_spec_t& earliest) noexcept;

/// Samples of a USRP, or of several in step. After a late command or a broken chain nothing would come any more, so the
/// stream is asked for again. What libuhd throws is `failed`. Where the device's clock could not be set, its time
/// stamps are moved to the host's time once, at the first.
class UhdSource final : public Source {
 public:
  UhdSource(const Settings& settings, Element element);
  /// Gives the device up for all who share it where it failed, or gave nothing for the last seconds.
  ~UhdSource() override;
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  std::optional<std::int64_t> retune(const SourceOptions& options) override;

 private:
  void start();
  Received samples(std::int64_t count, const uhd::rx_metadata_t& metadata);
  std::int64_t leave_out_stale(std::int64_t count, std::int64_t time_ns);
  std::int64_t ns_of_samples(std::int64_t count) const;
  Received error(const uhd::rx_metadata_t& metadata);
  void warn(std::string_view what, std::string_view why);

  std::shared_ptr<FrontEnd> front_end_;
  Element element_;
  std::int64_t most_;  // at once
  uhd::rx_streamer::sptr stream_;
  std::vector<void*> buffers_;
  bool started_ = false;
  bool failed_ = false;
  std::int64_t last_ns_ = 0;  // steady clock, of the last samples
  bool time_begun_ = false;
  std::int64_t time_offset_ns_ = 0;
  std::optional<std::int64_t> timed_ns_;  // by the device's clock, the last sample with a time stamp…
  std::int64_t since_timed_ = 0;          // …and so many behind it the next one
  log::RateLimit limit_;
};

}  // namespace iqd::radio::usrp
