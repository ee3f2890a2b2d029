// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "radio/zmq/tag_header.hpp"

namespace iqd::radio::zmq {

/// The samples of a received message that were not taken yet, and the time stamps of some. A message may have several
/// frames; the samples stay in the frame. One thread.
class ReceivedSamples {
 public:
  explicit ReceivedSamples(std::size_t sample_bytes) : sample_bytes_(sample_bytes) {}

  void begin_message() noexcept;
  /// Where the time stamps of the message that begins go, in order.
  std::vector<TimeTag>& times() noexcept { return times_; }
  /// Whether these are whole samples.
  bool are_whole(std::string_view bytes) const noexcept { return bytes.size() % sample_bytes_ == 0; }
  /// These are the message's next samples. They must remain until they are taken. Returns how many they are.
  std::int64_t add(std::string_view bytes) noexcept;
  /// The rest of the message is ignored.
  void drop() noexcept { rest_ = {}; }

  /// Available samples, up to the next that has a time stamp.
  std::int64_t left() const noexcept;
  void take(std::byte* into, std::int64_t samples) noexcept;
  /// The time of the next sample, or null.
  const std::int64_t* time_ns() const noexcept;

 private:
  std::size_t sample_bytes_;
  std::string_view rest_;       // of the frame
  std::vector<TimeTag> times_;  // of samples not yet taken
  std::int64_t taken_ = 0;      // samples of the message already taken
};

}  // namespace iqd::radio::zmq
