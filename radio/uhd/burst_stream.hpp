// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <uhd/stream.hpp>

#include "radio/radio_settings.hpp"
#include "radio/sample_rows.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

/// Sends messages through libuhd's stream as bursts, and knows whether the device may still be sending them. One thread
/// at a time, except for `await_event`.
class BurstStream {
 public:
  BurstStream(uhd::tx_streamer::sptr stream, SampleRows rows, double rate_hz, const Timing& timing, Bursts bursts)
      : stream_(std::move(stream)), rows_(std::move(rows)), rate_hz_(rate_hz), timing_(timing), bursts_(bursts) {}

  /// Ends a burst that the message does not continue.
  void end_before(const Message& message);
  /// Starts a burst at this device time, or as soon as its samples arrive.
  void begin(const std::optional<uhd::time_spec_t>& at);
  /// Sends a message as the burst's next samples. Waits while the radio's buffer is full. Returns false if it took no
  /// samples for a second.
  bool write(const Message& message, const std::atomic<bool>& interrupted);
  void end();
  bool in_burst() const noexcept { return in_burst_; }
  /// The device has reported a burst as sent.
  void acknowledged() noexcept { --unacknowledged_; }
  bool is_on_air() const noexcept;

  /// Waits for an event of the device. Any thread.
  bool await_event(uhd::async_metadata_t& event, double within_s) { return stream_->recv_async_msg(event, within_s); }
  /// Moves the stream out; nothing may be called afterwards.
  uhd::tx_streamer::sptr release() noexcept { return std::move(stream_); }

 private:
  void ended();

  uhd::tx_streamer::sptr stream_;
  SampleRows rows_;
  double rate_hz_;
  Timing timing_;
  Bursts bursts_;
  uhd::tx_metadata_t metadata_;
  bool in_burst_ = false;
  std::int64_t next_ns_ = 0;          // when the sample after the last one is due
  std::int64_t unacknowledged_ = 0;   // ended bursts that the device has not yet reported as sent
  std::int64_t on_air_until_ns_ = 0;  // steady clock: by then they are sent, whatever it reports
};

}  // namespace iqd::radio::usrp
