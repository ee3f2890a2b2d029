// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/access.hpp"
#include "net/handles.hpp"

namespace iqd::net {

/// Sets a socket's own keys, and the server's public key if this side connects. Throws SetupError.
void give_keys(void* socket, const Access& access, bool bound);

/// Answers libzmq's requests whether a peer's key may connect (ZAP protocol, RFC 27). The list of permitted keys is
/// read for every request. With an unreadable list no peer can connect. One thread.
class KeyCheck {
 public:
  /// The status that libzmq reports for a refused peer. After a permanent refusal (400) a client never retries, even if
  /// its key is added to the list later.
  static constexpr std::uint32_t kTryAgain = 300;

  /// Create before `socket` is bound. `context` must serve no other socket with keys. `list`: path of the permitted
  /// keys. Throws SetupError.
  KeyCheck(void* context, void* socket, std::string list);

  struct Refusal {
    std::string peer;
    std::string why;
  };
  /// Answers the request that has arrived. Returns the peer that it refused, if any.
  std::optional<Refusal> answer() const;
  /// Can be polled for the next request.
  void* handle() const noexcept { return socket_.get(); }

 private:
  std::string refusal_of(const std::string& key) const;

  std::string list_;
  SocketHandle socket_;
};

}  // namespace iqd::net
