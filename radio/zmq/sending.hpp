// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <algorithm>
#include <cstdint>

#include "base/driver.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// How long queued messages have to leave after the socket is closed.
inline constexpr int kLingerMs = 10'000;
/// The longest time a waiting sink takes to notice an interrupt.
inline constexpr long kPollMs = 50;
/// The default time that a push socket waits for a reader.
inline constexpr double kWaitS = 1;

/// An XPUB socket is a PUB socket that sees subscriptions, and can refuse excessive ones.
inline int socket_type(SinkKind kind) {
  return kind == SinkKind::pub ? ZMQ_XPUB : ZMQ_PUSH;
}

/// Opens the socket of a sink without requests. ZeroMQ limits queues by messages, the configuration by bytes.
inline void open_for(Socket& socket, const SinkSettings& settings, const PortFormat& format) {
  const std::int64_t message = std::max<std::int64_t>(format.bytes(format.most()), 1);
  socket.set(ZMQ_SNDHWM, static_cast<int>(std::clamp<std::int64_t>(settings.hwm_bytes / message, 1, 1'000'000)));
  socket.set(ZMQ_RCVHWM, 1);
  if (settings.kind == SinkKind::pub) socket.set(ZMQ_XPUB_VERBOSER, 1);
  socket.open(kAnswerBytes);
}

}  // namespace iqd::radio::zmq
