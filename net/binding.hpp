// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace iqd::net {

/// A bound socket. libzmq takes an ipc:// address away from the program that is bound there, and leaves the file
/// behind. Here, a second bind fails as with a TCP port in use, a file without a listener is replaced, and the
/// destructor removes the file.
class Binding {
 public:
  Binding() = default;
  /// Destroy after closing the socket.
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// Call once. Returns 0, or -1 with the reason in `zmq_errno`: EADDRINUSE if the address is in use, EEXIST if the
  /// file there is not a socket.
  int bind(void* socket, const std::string& endpoint);

 private:
  void remember();

  std::string path_;  // of our own file
  dev_t device_ = 0;
  ino_t number_ = 0;
};

/// Where a socket is bound last: with the port that the system chose.
std::string bound_address(void* socket);

/// A hint for a message that says why an endpoint cannot be bound; empty if `error` is clear enough.
std::string_view what_to_do(int error, std::string_view endpoint) noexcept;

/// Does what the destructors of all bindings would do, when a process ends without them. Any thread.
void remove_bound_files() noexcept;

}  // namespace iqd::net
