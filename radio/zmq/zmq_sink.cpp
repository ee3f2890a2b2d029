// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/zmq_sink.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <cerrno>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/wire.hpp"
#include "radio/zmq/sending.hpp"

namespace iqd::radio::zmq {

ZmqSink::ZmqSink(const SinkSettings& settings, const PortFormat& format)
    : settings_(settings),
      socket_(socket_type(settings.kind), settings.endpoints[0]),
      head_(header_bound(format, settings.topic.size(), 0, 0)) {
  open_for(socket_, settings, format);
}

/// Grows the buffer once, to what a message needs: facts are unknown before the first message that has some.
std::size_t ZmqSink::write_head(const Message& m) {
  if (const std::size_t bytes = write_header(m, settings_.topic, head_)) return bytes;
  const std::int64_t items = std::max(m.extent, m.format->most());
  head_.resize(std::max(head_.size(), header_bound(*m.format, settings_.topic.size(), m.facts.size(), items)));
  return write_header(m, settings_.topic, head_);
}

bool ZmqSink::send(const Message& m) {
  if (settings_.kind == SinkKind::pub) socket_.read_subscriptions();
  const std::size_t bytes = write_head(m);
  if (bytes == 0) throw std::runtime_error("zmq sink " + settings_.endpoints[0].address() + ": the header is too long");
  while (::zmq_send(socket_.handle(), head_.data(), bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
    if (::zmq_errno() != EAGAIN && ::zmq_errno() != EINTR)
      throw std::runtime_error("zmq sink " + settings_.endpoints[0].address() + ": " + last_error());
    if (!wait_until_taken()) return false;
  }
  patient_ = true;
  if (::zmq_send(socket_.handle(), m.payload.data(), m.payload.size(), ZMQ_DONTWAIT) < 0)
    throw std::runtime_error("zmq sink " + settings_.endpoints[0].address() + ": " + last_error());
  return true;
}

bool ZmqSink::wait_until_taken() {
  const std::int64_t deadline = steady_ns() + static_cast<std::int64_t>(settings_.wait_s.value_or(kWaitS) * 1e9);
  zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLOUT, 0};
  while (patient_ && !interrupted_ && steady_ns() < deadline)
    if (::zmq_poll(&item, 1, kPollMs) > 0) return true;
  patient_ = false;
  return false;
}

void ZmqSink::finish() {
  socket_.set(ZMQ_LINGER, kLingerMs);
}

}  // namespace iqd::radio::zmq
