// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "radio/zmq/frame.hpp"
#include "radio/zmq/settings.hpp"
#include "radio/zmq/tag_header.hpp"

namespace iqd::radio::zmq {

/// The socket of one channel: hands out the samples of one message after the other. With `req` it asks for the next
/// message as soon as one has come.
class RawLine {
 public:
  enum class Came { samples, nothing, refused, gone, failed };

  RawLine(const SourceSettings& settings, Endpoint endpoint);

  /// Takes what lies there, without waiting; only where nothing is `left`. `refused`: a message was left out, `why`
  /// says why. `gone`: nothing more lies there, and a peer hung up since.
  Came fetch();
  const std::string& why() const noexcept { return why_; }
  const std::string& address() const noexcept { return address_; }
  /// What `fetch` waits for.
  zmq_pollitem_t poll_item() const noexcept;
  /// Whether `fetch` waits for time to pass: a peer that has nothing is not asked over and over.
  bool rests() const noexcept { return rests_until_ns_ > 0; }

  /// Samples that lie there, up to the next that has a time stamp.
  std::int64_t left() const noexcept;
  void take(std::byte* into, std::int64_t samples) noexcept;
  /// Of the next sample; null where it has none.
  const std::int64_t* time_ns() const noexcept;
  /// How many samples of the peer's count are missing before those that came last; negative where it began anew.
  std::int64_t skipped() noexcept { return std::exchange(skipped_, 0); }

 private:
  bool ask();
  Came accept();
  Came refuse(std::string why);
  bool open_message();
  bool read_tags();
  std::uint64_t departures() const;

  const SourceSettings& settings_;
  bool asks_;
  std::size_t size_;  // of a sample
  std::string address_;
  Socket socket_;
  Frame frame_;
  std::size_t at_ = 0;  // bytes of it that were taken
  std::string why_;
  bool asked_ = false;   // and not answered yet
  bool within_ = false;  // the message goes on behind the frame
  std::int64_t rests_until_ns_ = 0;
  std::uint64_t departures_ = 0;  // of peers, when it asked, or when they were noticed
  std::vector<TimeTag> times_;    // of the message, those that stand further on
  std::int64_t taken_ = 0;        // samples of the message
  std::int64_t expected_ = -1;    // by the peer's count; -1: it has said none
  std::int64_t skipped_ = 0;
  bool other_rate_ = false;  // says the peer
};

}  // namespace iqd::radio::zmq
