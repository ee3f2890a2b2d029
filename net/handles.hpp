// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

namespace iqd::net {

struct TermContext {
  /// Returns when every socket is closed, and lingering messages have been sent.
  void operator()(void* context) const noexcept {
    while (::zmq_ctx_term(context) != 0 && ::zmq_errno() == EINTR) {
    }
  }
};
struct CloseSocket {
  void operator()(void* socket) const noexcept { ::zmq_close(socket); }
};
using Context = std::unique_ptr<void, TermContext>;
using SocketHandle = std::unique_ptr<void, CloseSocket>;

/// Creates a context and starts its threads. Throws SetupError where libzmq would end the process for lack of
/// descriptors or threads. A socket created with it may still be null.
Context make_context();

inline void set_option(void* socket, int option, int value) noexcept {
  ::zmq_setsockopt(socket, option, &value, sizeof value);
}

/// Receives the frames of one message; none if that fails.
std::vector<std::string> receive_frames(void* socket);

}  // namespace iqd::net
