// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <cerrno>
#include <memory>

namespace iqd::net {

struct TermContext {
  /// Returns when every socket is closed and what they linger for has left.
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

/// With its threads started, where libzmq would end the process for want of descriptors or threads; a socket that is
/// made with it may still be null. Throws SetupError.
Context make_context();

inline void set_option(void* socket, int option, int value) noexcept {
  ::zmq_setsockopt(socket, option, &value, sizeof value);
}

}  // namespace iqd::net
