// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/zmq_sink.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/wire.hpp"

namespace iqd::radio::zmq {
namespace {

constexpr int kLingerMs = 10'000;
constexpr long kPollMs = 50;

/// ZeroMQ counts messages, people count bytes.
int high_water(std::int64_t bytes, const PortFormat& format) {
  const std::int64_t message = std::max<std::int64_t>(format.bytes(format.most()), 1);
  return static_cast<int>(std::clamp<std::int64_t>(bytes / message, 1, 1'000'000));
}

}  // namespace

std::span<const std::string_view> enum_names(SinkKind) {
  static constexpr std::array<std::string_view, 2> kNames{"push", "pub"};
  return kNames;
}

ZmqSink::ZmqSink(const SinkSettings& settings, const PortFormat& format)
    : settings_(settings),
      socket_(settings.kind == SinkKind::pub ? ZMQ_PUB : ZMQ_PUSH, settings.endpoint),
      head_(header_bound(format, settings.topic.size(), 0, 0)) {
  socket_.set(ZMQ_SNDHWM, high_water(settings.hwm_bytes, format));
  socket_.open();
}

/// The buffer grows to what a message needs, once: facts are not known before the first that has some.
std::size_t ZmqSink::write_head(const Message& m) {
  if (const std::size_t bytes = write_header(m, settings_.topic, head_)) return bytes;
  const std::int64_t items = std::max(m.extent, m.format->most());
  head_.resize(std::max(head_.size(), header_bound(*m.format, settings_.topic.size(), m.facts.size(), items)));
  return write_header(m, settings_.topic, head_);
}

bool ZmqSink::send(const Message& m) {
  const std::size_t bytes = write_head(m);
  if (bytes == 0) throw std::runtime_error("zmq sink " + settings_.endpoint.address() + ": a header is too long");
  while (::zmq_send(socket_.handle(), head_.data(), bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
    if (::zmq_errno() != EAGAIN && ::zmq_errno() != EINTR)
      throw std::runtime_error("zmq sink " + settings_.endpoint.address() + ": " + last_error());
    if (!wait_until_taken()) return false;
  }
  patient_ = true;
  if (::zmq_send(socket_.handle(), m.payload.data(), m.payload.size(), ZMQ_DONTWAIT) < 0)
    throw std::runtime_error("zmq sink " + settings_.endpoint.address() + ": " + last_error());
  return true;
}

bool ZmqSink::wait_until_taken() {
  const std::int64_t deadline = steady_ns() + static_cast<std::int64_t>(settings_.wait_s * 1e9);
  zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLOUT, 0};
  while (patient_ && !interrupted_ && steady_ns() < deadline)
    if (::zmq_poll(&item, 1, kPollMs) > 0) return true;
  patient_ = false;
  return false;
}

void ZmqSink::finish() {
  socket_.set(ZMQ_LINGER, kLingerMs);
}

void ZmqSinkOptions::fields(FieldVisitor& v) {
  SinkSettings& s = settings_;
  s.endpoint.fields(v);
  v.field("kind", s.kind, {.help = "push: each message to one reader; pub: to all who listen"});
  v.field("topic", s.topic, {.help = "the port's name if not given"});
  v.field("hwm_bytes", s.hwm_bytes, {.help = "how much may wait for a slow reader", .unit = Unit::bytes, .low = 1});
  v.field("wait", s.wait_s,
          {.help = "push: how long a message waits for a reader before it is lost",
           .unit = Unit::seconds,
           .low = 0,
           .high = 3600});
}

std::string ZmqSinkOptions::topic_of(const PortFormat& format) const {
  return settings_.topic.empty() ? format.port : settings_.topic;
}

void ZmqSinkOptions::check(const PortFormat& format, const Section& section) const {
  settings_.endpoint.check(section);
  const std::string topic = topic_of(format);
  const bool clean =
      std::all_of(topic.begin(), topic.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; });
  if (!clean || topic.empty()) section.problem("topic", fmt::format("'{}': a topic has no spaces", topic));
}

std::unique_ptr<Sink> ZmqSinkOptions::open(const PortFormat& format) const {
  SinkSettings settings = settings_;
  settings.topic = topic_of(format);
  return std::make_unique<ZmqSink>(settings, format);
}

}  // namespace iqd::radio::zmq
