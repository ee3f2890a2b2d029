// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/zmq_source.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::zmq {
namespace {

constexpr int kTimeoutMs = 100;

}  // namespace

ZmqSource::ZmqSource(const SourceSettings& settings)
    : address_(settings.endpoints[0].address()),
      socket_(settings.kind == SourceKind::sub ? ZMQ_SUB : ZMQ_PULL, settings.endpoints[0]),
      samples_("zmq source " + address_, settings) {
  socket_.set(ZMQ_RCVHWM, settings.high_water());
  socket_.set(ZMQ_RCVTIMEO, kTimeoutMs);
  if (settings.kind == SourceKind::sub) socket_.subscribe(settings.topic.empty() ? "" : settings.topic + " ");
  socket_.open(settings.most_received());
  if (!samples_.has_rate()) wait_for_rate();
}

void ZmqSource::wait_for_rate() {
  log::info("zmq source {}: waits for the first message, which says the sample rate", address_);
  const std::int64_t until = steady_ns() + std::llround(kFirstMessageS * 1e9);
  while (steady_ns() < until)
    if (fetch() == Fetched::message) return;
  throw SetupError(fmt::format(
      "zmq source {}: no message within {} s says the sample rate{}; start the peer first, or "
      "give `rate` (always for a pipeline of the same file)",
      address_, kFirstMessageS,
      samples_.refusal().empty() ? "" : fmt::format(", and the last one was ignored: {}", samples_.refusal())));
}

Received ZmqSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  if (!samples_.has_samples()) {
    Received got;
    switch (fetch()) {
      case Fetched::message: break;
      case Fetched::nothing: return got;
      case Fetched::restarted: got.event = Received::Event::overflow; return got;
      case Fetched::failed: got.event = Received::Event::failed; return got;
    }
  }
  return samples_.deliver(into, most);
}

/// Receives both frames of the next message. Returns false if none came; `complete` says whether there were exactly
/// two.
bool ZmqSource::fetch_frames(bool& complete) {
  complete = false;
  if (!head_.receive(socket_.handle())) return false;
  if (!head_.more() || !payload_.receive(socket_.handle())) return true;
  complete = !payload_.more();
  Frame rest;
  for (bool more = payload_.more(); more; more = rest.more())
    if (!rest.receive(socket_.handle())) return true;
  return true;
}

ZmqSource::Fetched ZmqSource::fetch() {
  samples_.forget();
  bool complete = false;
  if (!fetch_frames(complete)) {
    if (::zmq_errno() == EAGAIN || ::zmq_errno() == EINTR) return Fetched::nothing;
    log::error("zmq source {}: {}", address_, last_error());
    return Fetched::failed;
  }
  if (!complete) {
    samples_.refuse("it does not have two frames");
    return Fetched::nothing;
  }
  switch (samples_.take(head_.text(), payload_.text())) {
    case SampleMessages::Taken::message: return Fetched::message;
    case SampleMessages::Taken::nothing: return Fetched::nothing;
    case SampleMessages::Taken::restarted: break;
  }
  return Fetched::restarted;
}

}  // namespace iqd::radio::zmq
