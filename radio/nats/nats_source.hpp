// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/driver.hpp"
#include "hosts/stored_messages.hpp"
#include "radio/zmq/sample_messages.hpp"

namespace iqd::radio::nats {

/// Samples from stored messages in iqd's wire format, in their order. The server keeps this reader's place, so it
/// continues where it ended.
class NatsSource final : public Source {
 public:
  NatsSource(const std::string& stream, std::unique_ptr<hosts::MessageFeed> feed, const zmq::SourceSettings& settings);
  StreamInfo info() const override { return samples_.info(); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

 private:
  std::unique_ptr<hosts::MessageFeed> feed_;
  zmq::SampleMessages samples_;
};

}  // namespace iqd::radio::nats
