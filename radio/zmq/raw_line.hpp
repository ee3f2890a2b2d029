// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "radio/zmq/frame.hpp"
#include "radio/zmq/peer_count.hpp"
#include "radio/zmq/received_samples.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// The socket of one channel: returns the samples of one message after another. With `req` it requests the next message
/// as soon as one has arrived.
class RawLine {
 public:
  enum class Came { samples, nothing, refused, gone, failed };

  RawLine(const SourceSettings& settings, Endpoint endpoint);

  /// Takes a message that has arrived, without waiting; only if nothing is `left`. `refused`: a message was ignored,
  /// `why` says why. `gone`: no more messages, and a peer has hung up since.
  Came fetch();
  const std::string& why() const noexcept { return why_; }
  const std::string& address() const noexcept { return address_; }
  /// The event that `fetch` waits for.
  zmq_pollitem_t poll_item() const noexcept;
  /// Whether `fetch` pauses: a peer without samples is not polled continuously.
  bool rests() const noexcept { return rests_until_ns_ > 0; }

  /// See ReceivedSamples.
  std::int64_t left() const noexcept { return samples_.left(); }
  void take(std::byte* into, std::int64_t samples) noexcept { samples_.take(into, samples); }
  const std::int64_t* time_ns() const noexcept { return samples_.time_ns(); }
  /// How many samples are missing, by the peer's count, before the last ones; negative if the peer restarted.
  std::int64_t skipped() noexcept { return count_.take_skipped(); }

 private:
  bool ask();
  Came accept();
  Came refuse(std::string why);
  std::optional<std::size_t> open_message();
  std::optional<std::size_t> read_tags();
  std::uint64_t departures() const;

  const SourceSettings& settings_;
  bool asks_;
  std::string address_;
  Socket socket_;
  Frame frame_;
  ReceivedSamples samples_;  // of the frame
  PeerCount count_;
  std::string why_;
  bool asked_ = false;   // a request is unanswered
  bool within_ = false;  // the message has more frames
  std::int64_t rests_until_ns_ = 0;
  std::uint64_t departures_ = 0;  // of peers, at the last request, or when last noticed
  bool other_rate_ = false;       // according to the peer
};

}  // namespace iqd::radio::zmq
