// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/handles.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "net/descriptors.hpp"

namespace iqd::net {
namespace {

/// A context takes five, its socket with a door and a listener five more; the rest is for other threads.
constexpr int kDescriptors = 24;
/// libzmq's two, and the door's.
constexpr int kThreads = 3;

}  // namespace

Context make_context() {
  const FreeDescriptors free(kDescriptors);
  require_threads(kThreads);
  Context context(::zmq_ctx_new());
  // A context starts its threads with the first socket.
  const SocketHandle first(context ? ::zmq_socket(context.get(), ZMQ_PAIR) : nullptr);
  if (!first) throw SetupError(fmt::format("zmq: cannot create a socket: {}", ::zmq_strerror(::zmq_errno())));
  return context;
}

std::vector<std::string> receive_frames(void* socket) {
  std::vector<std::string> frames;
  for (int more = 1; more != 0;) {
    zmq_msg_t m;
    ::zmq_msg_init(&m);
    if (::zmq_msg_recv(&m, socket, 0) < 0) return {};
    frames.emplace_back(static_cast<const char*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m));
    more = ::zmq_msg_more(&m);
    ::zmq_msg_close(&m);
  }
  return frames;
}

}  // namespace iqd::net
