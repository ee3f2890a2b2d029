// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

/// The channels of a USRP that transmit. They are on only while samples come: before the first, half a second after the
/// last, and from the end on there is no burst, and the gain is the lowest there is. A thread of its own sees to that,
/// takes what the device has to tell, and lets go of a device that others have given up.
class Transmitter {
 public:
  Transmitter(const Settings& settings, const Timing& timing, Element element);
  ~Transmitter();

  /// Waits while the radio's buffer is full. False where none were taken for a second. Throws SetupError where the
  /// device is gone.
  bool send(const Message& message);
  /// Ends the burst and waits until it has left, two seconds at most.
  void finish();
  SinkCounts counts() const noexcept { return {underflows_, late_, sequence_errors_}; }
  void interrupt() noexcept { interrupted_ = true; }
  const std::string& name() const noexcept { return name_; }
  /// From here on nobody else gets the device: it is about to be closed.
  void leave() noexcept { front_end_.leave(); }

 private:
  void begin(const Message& message);
  bool write(const Message& message);
  void give_up(const std::string& why);
  void end_burst();
  void burst_ended();
  bool is_on_air() const noexcept;
  void guard();
  void let_go();
  void look_after();
  void take_event(const uhd::async_metadata_t& event);
  void note(std::atomic<std::uint64_t>& count, std::string_view what);

  FrontEnd front_end_;
  const std::string name_;
  Timing timing_;
  std::size_t sample_bytes_;
  uhd::tx_streamer::sptr stream_;
  std::vector<const void*> buffers_;

  std::timed_mutex mutex_;  // of all up to the counts, between whoever sends and the guard
  uhd::tx_metadata_t metadata_;
  bool on_ = false;
  bool in_burst_ = false;
  std::int64_t next_ns_ = 0;          // when the sample after the last one leaves
  std::int64_t sent_ns_ = 0;          // steady clock, when somebody last had samples
  std::int64_t refused_ns_ = 0;       // since then none were taken; 0: they are
  std::int64_t unacknowledged_ = 0;   // bursts that ended, and of which the device has not said that they left
  std::int64_t on_air_until_ns_ = 0;  // steady clock: then they have, whatever it says
  std::string gone_;                  // why it is

  std::atomic<std::uint64_t> underflows_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> sequence_errors_{0};
  log::RateLimit limit_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> ends_{false};
  std::thread guard_;
};

}  // namespace iqd::radio::usrp
