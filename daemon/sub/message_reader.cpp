// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "net/endpoint.hpp"

namespace iqd {
namespace {

/// Larger than any block.
constexpr std::int64_t kMostReceived = std::int64_t{4} << 30;
constexpr std::int64_t kLongestWaitNs = 100'000'000;

radio::zmq::Endpoint endpoint_of(const MessageOrigin& o) {
  return {o.bind ? o.endpoint : "", o.bind ? "" : o.endpoint, o.access};
}

}  // namespace

void require_endpoint(const std::string& endpoint) {
  if (!net::is_endpoint(endpoint))
    throw UsageError(
        fmt::format("'{}' is not an address: use tcp://host:port, with a port up to 65535, or ipc://path", endpoint));
}

MessageReader::MessageReader(const MessageOrigin& origin)
    : socket_(origin.push ? ZMQ_PULL : ZMQ_SUB, endpoint_of(origin)) {
  if (!origin.push) socket_.subscribe(origin.topic.empty() ? "" : origin.topic + " ");
  socket_.open(kMostReceived);
}

MessageReader::Came MessageReader::next() {
  head_.emplace(), payload_.emplace(), message_.reset();
  if (!head_->receive(socket_.handle())) return Came::nothing;
  // All parts of a message arrive at once.
  MessageFrame rest;
  int parts = 1;
  bool more = head_->more();
  if (more) {
    payload_->receive(socket_.handle());
    more = payload_->more();
    ++parts;
  }
  for (; more && rest.receive(socket_.handle()); ++parts) more = rest.more();
  topic_ = head_->text().substr(0, head_->text().find(' '));
  bytes_ = head_->bytes().size() + payload_->bytes().size();
  if (parts == 2)
    message_ = read_message(head_->text(), payload_->bytes(), why_);
  else
    why_ = fmt::format("{} frames instead of 2", parts);
  return message_ ? Came::message : Came::malformed;
}

void MessageReader::wait(std::int64_t most_ns) {
  zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
  ::zmq_poll(&item, 1, static_cast<long>(std::clamp<std::int64_t>(most_ns, 0, kLongestWaitNs) / 1'000'000 + 1));
}

void MessageReader::hear_all(bool all) {
  if (all != hears_all_) ::zmq_setsockopt(socket_.handle(), all ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, "", 0);
  hears_all_ = all;
}

}  // namespace iqd
