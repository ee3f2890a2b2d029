// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <algorithm>
#include <cstdint>

#include "base/driver.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// What was sent has so long to leave after the socket is closed.
inline constexpr int kLingerMs = 10'000;
/// How long a waiting sink does not look whether it was interrupted.
inline constexpr long kPollMs = 50;
/// How long a push socket waits for a reader where the configuration does not say.
inline constexpr double kWaitS = 1;

/// XPUB is PUB that can be asked what readers want, and so can refuse what is too much.
inline int socket_type(SinkKind kind) {
  return kind == SinkKind::pub ? ZMQ_XPUB : ZMQ_PUSH;
}

/// Opens the socket of a sink that is not asked. ZeroMQ counts messages, people count bytes.
inline void open_for(Socket& socket, const SinkSettings& settings, const PortFormat& format) {
  const std::int64_t message = std::max<std::int64_t>(format.bytes(format.most()), 1);
  socket.set(ZMQ_SNDHWM, static_cast<int>(std::clamp<std::int64_t>(settings.hwm_bytes / message, 1, 1'000'000)));
  socket.set(ZMQ_RCVHWM, 1);
  if (settings.kind == SinkKind::pub) socket.set(ZMQ_XPUB_VERBOSER, 1);
  socket.open(kAnswerBytes);
}

}  // namespace iqd::radio::zmq
