// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_sink.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "base/clock.hpp"
#include "radio/zmq/sending.hpp"

namespace iqd::radio::zmq {

std::string not_bare(const PortFormat& format) {
  const std::size_t rank = format.dims.size();
  const bool stream =
      (rank == 1 || (rank == 2 && format.dims[0].name == "channel")) && format.varying == static_cast<int>(rank) - 1;
  if (stream) return {};
  return fmt::format("{} is {}; without headers only [n] and [channel][n] can be sent", format.port,
                     to_string(format.dims));
}

RawSink::RawSink(const SinkSettings& settings, const PortFormat& format) : settings_(settings) {
  for (std::size_t i = 0; i < settings.endpoints.size(); ++i) {
    Socket& socket = sockets_.emplace_back(socket_type(settings.kind), settings.endpoints[i]);
    open_for(socket, settings, format);
  }
}

bool RawSink::send(const Message& m) {
  for (Socket& s : sockets_)
    if (settings_.kind == SinkKind::pub) s.read_subscriptions();
  if (!wait_until_taken()) return false;
  const std::size_t bytes = m.payload.size() / sockets_.size();
  for (std::size_t c = 0; c < sockets_.size(); ++c) {
    if (!settings_.topic.empty()) send_frame(sockets_[c], settings_.topic.data(), settings_.topic.size(), ZMQ_SNDMORE);
    send_frame(sockets_[c], m.payload.data() + c * bytes, bytes, 0);
  }
  return true;
}

void RawSink::send_frame(Socket& socket, const void* data, std::size_t bytes, int flags) {
  if (::zmq_send(socket.handle(), data, bytes, flags | ZMQ_DONTWAIT) < 0)
    throw std::runtime_error("zmq sink " + settings_.endpoints[0].address() + ": " + last_error());
}

/// A pub socket always takes everything.
bool RawSink::wait_until_taken() {
  const std::int64_t deadline = steady_ns() + static_cast<std::int64_t>(settings_.wait_s.value_or(kWaitS) * 1e9);
  const auto all_take = [this](long timeout_ms) {
    return std::all_of(sockets_.begin(), sockets_.end(), [timeout_ms](const Socket& s) {
      zmq_pollitem_t item{s.handle(), 0, ZMQ_POLLOUT, 0};
      return ::zmq_poll(&item, 1, timeout_ms) > 0;
    });
  };
  bool taken = all_take(0);
  while (!taken && patient_ && !interrupted_ && steady_ns() < deadline) taken = all_take(kPollMs);
  patient_ = taken;
  return taken;
}

void RawSink::finish() {
  for (Socket& s : sockets_) s.set(ZMQ_LINGER, kLingerMs);
}

}  // namespace iqd::radio::zmq
