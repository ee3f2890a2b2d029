// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

/// Transmits `[n]` or `[channel][n]` through a USRP, or several. The samples are one burst; with `timed` a new one
/// begins, at its own time, where the stream has a gap or the radio ran out of samples.
class UhdSink final : public Sink {
 public:
  UhdSink(const Settings& settings, const Timing& timing, Element element);
  ~UhdSink() override;
  /// Waits while the radio's buffer is full. False where none were taken for a second.
  bool send(const Message& message) override;
  /// Ends the burst and waits until it is on the air, a second at most.
  void finish() override;
  SinkCounts counts() const noexcept override { return {underflows_, late_, sequence_errors_}; }
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  void begin(const Message& message);
  bool write(std::size_t samples);
  void end_burst();
  void read_events();
  void take_event(const uhd::async_metadata_t& event);
  void note(std::atomic<std::uint64_t>& count, std::string_view what);

  FrontEnd front_end_;
  Timing timing_;
  std::size_t sample_bytes_;
  uhd::tx_streamer::sptr stream_;
  std::vector<const void*> buffers_;
  uhd::tx_metadata_t metadata_;
  bool in_burst_ = false;
  bool acknowledged_ = false;
  std::int64_t next_ns_ = 0;  // when the sample after the last one leaves
  std::atomic<std::uint64_t> underflows_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> sequence_errors_{0};
  log::RateLimit limit_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace iqd::radio::usrp
