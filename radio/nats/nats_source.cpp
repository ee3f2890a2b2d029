// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/nats/nats_source.hpp"

#include <utility>

namespace iqd::radio::nats {
namespace {

constexpr int kWaitMs = 100;

}  // namespace

NatsSource::NatsSource(const std::string& stream, std::unique_ptr<hosts::MessageFeed> feed,
                       const zmq::SourceSettings& settings)
    : feed_(std::move(feed)), samples_("nats source " + stream, settings) {}

Received NatsSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  using Got = hosts::MessageFeed::Got;
  using Taken = zmq::SampleMessages::Taken;
  if (samples_.has_samples()) return samples_.deliver(into, most);
  Received received;
  samples_.forget();
  switch (feed_->next(kWaitMs)) {
    case Got::message: break;
    case Got::nothing: return received;
    case Got::nonsense: samples_.refuse("it has no header of iqd"); return received;
    case Got::failed: received.event = Received::Event::failed; return received;
  }
  const Taken taken = samples_.take(feed_->head(), feed_->payload());
  if (taken == Taken::restarted) received.event = Received::Event::overflow;
  return taken == Taken::message ? samples_.deliver(into, most) : received;
}

}  // namespace iqd::radio::nats
