// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/nats/nats_sink.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/wire.hpp"

namespace iqd::radio::nats {

NatsSink::NatsSink(std::unique_ptr<hosts::MessageStore> store, std::string topic, const PortFormat& format)
    : store_(std::move(store)), topic_(std::move(topic)), head_(header_bound(format, topic_.size(), 0, 0)) {}

bool NatsSink::send(const Message& m) {
  std::size_t bytes = write_header(m, topic_, head_);
  if (bytes == 0) {
    // Facts are unknown before the first message that has some.
    head_.resize(header_bound(*m.format, topic_.size(), m.facts.size(), std::max(m.extent, m.format->most())));
    bytes = write_header(m, topic_, head_);
  }
  if (bytes == 0) throw std::runtime_error("nats sink: the header is too long");
  return store_->put({head_.data(), bytes}, m.payload);
}

}  // namespace iqd::radio::nats
