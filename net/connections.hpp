// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "net/door_log.hpp"
#include "net/peer.hpp"
#include "net/socket_monitor.hpp"
#include "net/subscriptions.hpp"
#include "net/unwelcome_hosts.hpp"

namespace iqd::net {

/// Why a handshake failed, as far as libzmq reports it.
enum class HandshakeFault : std::uint8_t {
  none,
  key_refused,  // the peer said so; an iqd hangs up instead
  wrong_key,    // what the other side sent does not match the public key
  mechanism,    // one side uses keys and the other does not
  socket_kind,  // PUB and PULL, for example
  hung_up,      // without a reason: refused, or the peer does not speak ZeroMQ's protocol
};

/// What a side that connects can know about the peer.
struct PeerFacts {
  bool reached = false;                         // something accepted a connection
  std::uint64_t handshakes = 0;                 // completed
  std::uint64_t departures = 0;                 // peers that hung up after the handshake, or were lost
  HandshakeFault fault = HandshakeFault::none;  // of the last handshake that failed for a known reason, if any
};

/// The connections of a socket, by their file descriptors: counts peers, failed handshakes and disconnected peers, and
/// cuts off peers that send too much. Times are of the steady clock, which the caller reads. Any thread.
class Connections {
 public:
  /// `curve`: whether the socket has keys. libzmq disconnects peers with messages of more than `message_bytes`.
  Connections(bool curve, std::int64_t message_bytes, DoorLog& log)
      : curve_(curve), message_bytes_(message_bytes), log_(log) {}

  /// libzmq's events must come one at a time, in their order.
  void take(const SocketMonitor::Event& event, std::int64_t now_ns);
  /// A reader has sent a subscription. A reader that subscribes to too much is cut off; see Subscriptions.
  void subscribes(int file, std::string_view message, std::int64_t now_ns);
  /// Cuts off a reader that has hung up: otherwise it would exist until all its messages are read, which takes seconds
  /// on a slow stream.
  void forget_if_gone(int file);

  /// Peers that have completed the handshake. For the time of a handshake it may be off by the peers that came and went
  /// within it.
  std::int64_t connected(std::int64_t now_ns) const;
  std::uint64_t handshake_failures() const;
  /// Peers that this side disconnected because of what they sent.
  std::uint64_t cut_off() const;
  /// Whether any peer ever connected, with or without a handshake.
  bool reached() const;
  /// Peers that hung up, or were lost, in total.
  std::uint64_t departures() const;
  PeerFacts facts() const;

 private:
  struct Connection {
    Peer peer;
    std::int64_t since_ns = 0;
    std::uint64_t succeeded_before = 0;  // total at the start of this connection
    Subscriptions asked{};
    bool is_cut_off = false;
  };
  void begin(int file, std::int64_t now_ns);
  void end(int file, std::int64_t now_ns);
  void handshake_failed(const std::string& peer, std::string_view why);
  Connection& largest();
  void cut_off(Connection& connection, std::string_view why, std::int64_t now_ns);

  const bool curve_;
  const std::int64_t message_bytes_;
  DoorLog& log_;

  mutable std::mutex mutex_;  // protects the following
  std::map<int, Connection> open_;
  std::uint64_t succeeded_ = 0;
  std::uint64_t failed_ = 0;
  std::int64_t connected_ = 0;
  std::uint64_t departures_ = 0;
  std::uint64_t cut_off_ = 0;
  UnwelcomeHosts unwelcome_;
  std::int64_t refused_ = 0;  // by the list; connected until the time limit
  bool reached_ = false;
  HandshakeFault fault_ = HandshakeFault::none;
  std::string failing_;  // reason for the next connection that ends
};

}  // namespace iqd::net
