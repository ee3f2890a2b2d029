// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/handles.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "net/descriptors.hpp"

namespace iqd::net {
namespace {

/// A context takes five, its socket with a door and a listener five more. Some are left for other threads.
constexpr int kDescriptors = 24;
/// libzmq's two, and the door's.
constexpr int kThreads = 3;

}  // namespace

Context make_context() {
  const FreeDescriptors free(kDescriptors);
  require_threads(kThreads);
  Context context(::zmq_ctx_new());
  // Its threads start with the first socket.
  const SocketHandle first(context ? ::zmq_socket(context.get(), ZMQ_PAIR) : nullptr);
  if (!first) throw SetupError(fmt::format("zmq: cannot make a socket: {}", ::zmq_strerror(::zmq_errno())));
  return context;
}

}  // namespace iqd::net
