// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace iqd::net {

/// Who is at the other end of a connection, for the log: `127.0.0.1 port 4242`, `a local peer`.
std::string peer_of(int file);

/// A connection of libzmq's, seen through a descriptor of our own. libzmq's number may belong to another connection
/// already; this one does not.
class Peer {
 public:
  Peer() = default;
  /// Where no descriptor can be had the peer has a name, and nothing else is known of it.
  explicit Peer(int file);
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&& other) noexcept;
  ~Peer();

  const std::string& name() const noexcept { return name_; }
  /// The name without the port.
  std::string_view host() const noexcept { return std::string_view(name_).substr(0, name_.find(" port ")); }
  /// Whether the other side has closed, or the network; true where that is not known.
  bool hung_up() const noexcept;
  /// Ends the connection, and throws away what it has not read; libzmq notices.
  void cut_off() const noexcept;

 private:
  std::string name_ = "a peer";
  int copy_ = -1;
};

}  // namespace iqd::net
