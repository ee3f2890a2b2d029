// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "net/access.hpp"
#include "net/handles.hpp"

namespace iqd::net {

/// Stands at a socket: gives it its keys, answers for the list of those who may come in, counts who is there and whose
/// handshake failed, and logs the latter, since the refused themselves are told nothing. One thread.
///
/// The list is read at every handshake, so a changed one counts at once, for those who come; who is in stays in. A list
/// that cannot be read lets nobody in. Who was refused tries again by itself every few seconds.
class Door {
 public:
  /// Before the socket is bound or connected; `context` serves no other socket with keys. `name` begins the lines of
  /// the log. Throws SetupError.
  Door(void* context, void* socket, const Access& access, bool bound, std::string name);
  /// Before the socket is closed.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // From any thread.
  /// Peers behind a handshake. It may be wrong by those who came and went within a handshake's time, until that is
  /// over.
  std::int64_t connected() const;
  std::uint64_t handshake_failures() const;
  /// Whether anybody was there at all, with a handshake or not.
  bool reached() const;
  /// Peers that hung up, or were lost, since the beginning.
  std::uint64_t departures() const;

 private:
  struct Connection {
    std::string peer;
    std::int64_t since_ns = 0;
    std::uint64_t succeeded_before = 0;  // handshakes of others
  };
  void give_keys(bool bound);
  void watch();
  void serve();
  void answer();
  bool may_enter(const std::string& key, std::string& why) const;
  bool take_event();
  void begin(int file);
  void end(int file);
  void log_failure(const std::string& peer, const std::string& why);

  void* context_;
  void* socket_;
  Access access_;
  std::string name_;
  SocketHandle zap_;
  SocketHandle monitor_;
  log::RateLimit limit_;

  mutable std::mutex mutex_;  // what follows; libzmq's events come one by one
  std::map<int, Connection> open_;
  std::uint64_t succeeded_ = 0;
  std::uint64_t failed_ = 0;
  std::int64_t connected_ = 0;
  std::uint64_t departures_ = 0;
  std::int64_t refused_ = 0;  // by the list: they stay open until their time is over
  bool reached_ = false;
  std::string failing_;  // why the connection that ends next does

  std::thread thread_;
};

}  // namespace iqd::net
