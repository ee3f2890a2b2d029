// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/log.hpp"
#include "net/access.hpp"
#include "net/handles.hpp"
#include "net/peer.hpp"
#include "net/subscriptions.hpp"

namespace iqd::net {

/// Stands at a socket: gives it its keys, answers for the list of those who may come in, bounds what a peer may send,
/// counts who is there, whose handshake failed and who was cut off, and logs the latter two, since these peers get no
/// reason. One thread.
///
/// The list is read at every handshake, so a changed one counts at once, for those who come; who is in stays in. A list
/// that cannot be read lets nobody in. Who was refused tries again by itself every few seconds.
class Door {
 public:
  /// Before the socket is bound or connected; `context` serves no other socket with keys. `name` begins the lines of
  /// the log. libzmq cuts off a peer that announces a message of more than `message_bytes`, before it makes room for
  /// it. Throws SetupError.
  Door(void* context, void* socket, const Access& access, bool bound, std::string name, std::int64_t message_bytes);
  /// Before the socket is closed.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// For the thread of a ZMQ_XPUB socket: `each` gets what readers subscribe to and no longer subscribe to. Unread it
  /// would pile up. A reader that asks for too much is cut off; see Subscriptions.
  void read_subscriptions(const std::function<void(std::string_view topic, bool more)>& each);

  // From any thread.
  /// Peers behind a handshake. It may be wrong by those who came and went within a handshake's time, until that is
  /// over.
  std::int64_t connected() const;
  std::uint64_t handshake_failures() const;
  /// Peers that this side disconnected, for what they sent.
  std::uint64_t cut_off() const;
  /// Whether anybody was there at all, with a handshake or not.
  bool reached() const;
  /// Peers that hung up, or were lost, since the beginning.
  std::uint64_t departures() const;

 private:
  struct Connection {
    Peer peer;
    std::int64_t since_ns = 0;
    std::uint64_t succeeded_before = 0;  // handshakes of others
    Subscriptions asked{};
    bool is_cut_off = false;
  };
  void give_keys(bool bound);
  void watch();
  void serve();
  void answer();
  bool may_enter(const std::string& key, std::string& why) const;
  bool take_event();
  void begin(int file);
  void end(int file);
  void look_at(int file, std::string_view message);
  void forget_if_gone(int file);
  Connection& largest();
  void cut_off(Connection& connection, std::string_view why);
  void log_failure(const std::string& peer, const std::string& why);

  void* context_;
  void* socket_;
  Access access_;
  std::string name_;
  std::int64_t message_bytes_;
  SocketHandle zap_;
  SocketHandle monitor_;
  log::RateLimit limit_;
  log::RateLimit cut_off_lines_;

  mutable std::mutex mutex_;  // what follows; libzmq's events come one by one
  std::map<int, Connection> open_;
  std::uint64_t succeeded_ = 0;
  std::uint64_t failed_ = 0;
  std::int64_t connected_ = 0;
  std::uint64_t departures_ = 0;
  std::uint64_t cut_off_ = 0;
  std::map<std::string, std::int64_t, std::less<>> unwelcome_;  // hosts of those who were cut off, and until when
  std::int64_t refused_ = 0;                                    // by the list: they stay open until their time is over
  bool reached_ = false;
  std::string failing_;  // why the connection that ends next does

  std::thread thread_;
};

}  // namespace iqd::net
