// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/sub/message_reader.hpp"
#include "daemon/sub/topic_census.hpp"

namespace iqd {

/// Why no handshake with a peer that can be reached succeeds, as far as libzmq reports it, and what to do.
std::string why_no_handshake(const net::PeerFacts& peer, bool has_keys, bool push);

/// Explains silence to a reader: no connection, a wrong topic, a publisher that has ended. If the wanted topic does not
/// come, it listens to all topics for a while and lists them. Times are of the steady clock. One thread.
class SubscriberHints {
 public:
  /// `patience_ns`: how long silence is normal.
  SubscriberHints(MessageReader& reader, const MessageOrigin& origin, std::int64_t patience_ns, std::int64_t now_ns);

  /// The reader has a message, which may be malformed. False if it is of another topic, and so not for the caller.
  bool wants(std::string_view topic, std::size_t bytes, const MessageView* message);
  /// Call it ten times a second. `idle`: no message is waiting. Returns lines to print, usually none.
  std::vector<std::string> look(std::int64_t now_ns, bool idle);
  /// The caller stops: lists the topics seen so far, if the wanted one did not come.
  std::vector<std::string> end(std::int64_t now_ns);

 private:
  static constexpr std::int64_t kListenNs = 2'000'000'000;
  static constexpr std::int64_t kProbeNs = 3'000'000'000;
  void say(std::vector<std::string>& lines, std::string text);
  void look_at_connection(std::vector<std::string>& lines, std::int64_t now_ns);
  void look_at_handshake(std::vector<std::string>& lines, const net::PeerFacts& peer, std::int64_t now_ns);
  void list_topics(std::vector<std::string>& lines, std::int64_t now_ns);

  MessageReader& reader_;
  const MessageOrigin origin_;
  const std::int64_t patience_ns_;
  const std::int64_t began_ns_;
  bool heard_ = false;    // the wanted topic
  bool is_gone_ = false;  // the publisher, after a handshake
  bool has_listed_ = false;
  std::int64_t listening_ns_ = 0;   // to all topics since then; 0: not
  std::int64_t next_probe_ns_ = 0;  // of an address where nothing listens
  std::uint64_t departures_ = 0;
  TopicCensus census_;
  std::string said_;
};

}  // namespace iqd
