// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "net/handles.hpp"

namespace iqd::net {

/// What libzmq reports about the connections of a socket. One thread reads; `stop` may be called by another.
class SocketMonitor {
 public:
  /// Throws SetupError.
  SocketMonitor(void* context, void* socket);

  struct Event {
    std::uint16_t kind = 0;   // ZMQ_EVENT_…; 0: invalid
    std::uint32_t value = 0;  // the connection's file descriptor, or the reason of a failure
  };
  /// Returns the event that has arrived. After the last one, its kind is ZMQ_EVENT_MONITOR_STOPPED.
  Event next() const;
  /// Makes libzmq report the last event. The monitored socket must still be open.
  void stop() const noexcept { ::zmq_socket_monitor(monitored_, nullptr, 0); }
  /// Can be polled for the next event.
  void* handle() const noexcept { return socket_.get(); }

 private:
  void* monitored_;
  SocketHandle socket_;
};

}  // namespace iqd::net
