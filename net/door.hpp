// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.hpp"
#include "net/access.hpp"
#include "net/connections.hpp"
#include "net/door_log.hpp"
#include "net/key_check.hpp"
#include "net/socket_monitor.hpp"

namespace iqd::net {

/// Controls access to a socket. One thread serves its parts: what libzmq reports about connections (SocketMonitor),
/// which peers there are and what they may send (Connections), and whether a key is permitted (KeyCheck). Failed
/// handshakes and disconnected peers are counted and logged, since these peers get no reason.
///
/// The list of permitted keys is read at every handshake, so a change applies at once to new connections; existing ones
/// stay. A refused peer tries again on its own every few seconds.
class Door {
 public:
  /// Create before the socket is bound or connected. `context` must serve no other socket with keys. `name` starts the
  /// lines of the log. libzmq disconnects a peer that announces a message of more than `message_bytes`, before it
  /// allocates memory. Throws SetupError.
  Door(void* context, void* socket, const Access& access, bool bound, std::string name, std::int64_t message_bytes);
  /// Destroy before the socket is closed.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// For the thread of a ZMQ_XPUB socket: calls `each` for subscriptions and unsubscriptions. Unread messages would
  /// pile up. A reader that subscribes to too much is cut off; see Subscriptions.
  void read_subscriptions(const std::function<void(std::string_view topic, bool more)>& each);

  // From any thread; see Connections.
  std::int64_t connected() const { return connections_.connected(steady_ns()); }
  std::uint64_t handshake_failures() const { return connections_.handshake_failures(); }
  std::uint64_t cut_off() const { return connections_.cut_off(); }
  bool reached() const { return connections_.reached(); }
  PeerFacts facts() const { return connections_.facts(); }
  std::uint64_t departures() const { return connections_.departures(); }

 private:
  void set_up_keys(void* context, const Access& access, bool bound);
  void serve();
  bool take_event();
  void answer();

  void* socket_;
  DoorLog log_;
  Connections connections_;
  std::optional<KeyCheck> key_check_;
  std::optional<SocketMonitor> monitor_;
  std::thread thread_;
};

}  // namespace iqd::net
