// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace iqd::net {

/// The peer of a connection, for the log: `127.0.0.1 port 4242`, `a local peer`.
std::string peer_of(int file);

/// A connection of libzmq, held by our own descriptor. libzmq's descriptor number may already belong to another
/// connection; ours does not.
class Peer {
 public:
  Peer() = default;
  /// If no descriptor is free, only the peer's name is known.
  explicit Peer(int file);
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&& other) noexcept;
  ~Peer();

  const std::string& name() const noexcept { return name_; }
  /// The name without the port.
  std::string_view host() const noexcept { return std::string_view(name_).substr(0, name_.find(" port ")); }
  /// Whether the other side, or the network, has closed the connection; true if unknown.
  bool hung_up() const noexcept;
  /// Ends the connection and discards unread data; libzmq notices.
  void cut_off() const noexcept;

 private:
  std::string name_ = "a peer";
  int copy_ = -1;
};

}  // namespace iqd::net
