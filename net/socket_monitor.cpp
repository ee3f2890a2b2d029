// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/socket_monitor.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace iqd::net {
namespace {

constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED |
                        ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

}  // namespace

SocketMonitor::SocketMonitor(void* context, void* socket) : monitored_(socket) {
  const std::string address = fmt::format("inproc://iqd.door.{}", socket);
  socket_.reset(::zmq_socket(context, ZMQ_PAIR));
  if (!socket_ || ::zmq_socket_monitor(socket, address.c_str(), kEvents) != 0 ||
      ::zmq_connect(socket_.get(), address.c_str()) != 0)
    throw SetupError(fmt::format("cannot monitor the socket: {}", ::zmq_strerror(::zmq_errno())));
}

SocketMonitor::Event SocketMonitor::next() const {
  const std::vector<std::string> frames = receive_frames(socket_.get());
  Event event;
  if (frames.empty()) event.kind = ZMQ_EVENT_MONITOR_STOPPED;
  if (frames.empty() || frames[0].size() != sizeof event.kind + sizeof event.value) return event;
  std::memcpy(&event.kind, frames[0].data(), sizeof event.kind);
  std::memcpy(&event.value, frames[0].data() + sizeof event.kind, sizeof event.value);
  return event;
}

}  // namespace iqd::net
