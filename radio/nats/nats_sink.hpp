// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "hosts/stored_messages.hpp"

namespace iqd::radio::nats {

/// Stores each message in iqd's wire format, header and payload in one. A message that the server does not store is
/// lost, and counted.
class NatsSink final : public Sink {
 public:
  NatsSink(std::unique_ptr<hosts::MessageStore> store, std::string topic, const PortFormat& format);
  bool send(const Message& message) override;

 private:
  std::unique_ptr<hosts::MessageStore> store_;
  const std::string topic_;
  std::vector<char> head_;
};

}  // namespace iqd::radio::nats
