// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace iqd::net {

/// Where a socket is bound. libzmq takes an address ipc://… away from whoever is bound there, and leaves the file
/// behind; here the second is refused as at a port that is in use, a file without a listener is replaced, and the file
/// goes with this.
class Binding {
 public:
  Binding() = default;
  /// After the socket is closed.
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// Once. 0, or -1 and why in `zmq_errno`: EADDRINUSE where somebody is bound there, EEXIST where what lies there is
  /// no socket.
  int bind(void* socket, const std::string& endpoint);

 private:
  void remember();

  std::string path_;  // of a file that is ours
  dev_t device_ = 0;
  ino_t number_ = 0;
};

/// The end of a message that says why an endpoint cannot be bound; empty where `error` says it all.
std::string_view what_to_do(int error, std::string_view endpoint) noexcept;

/// What the destructors of all bindings would do, where a process ends without them. Any thread.
void remove_bound_files() noexcept;

}  // namespace iqd::net
