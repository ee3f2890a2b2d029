// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// Sends each message as two frames in iqd's wire format. If a push socket's queue is full, or it has no peer, the sink
/// waits once; after that, messages are dropped at once until the socket takes one again. A pub socket never waits.
class ZmqSink final : public Sink {
 public:
  ZmqSink(const SinkSettings& settings, const PortFormat& format);
  bool send(const Message& message) override;
  /// Queued messages have ten seconds to leave after the socket is closed.
  void finish() override;
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  std::size_t write_head(const Message& message);
  bool wait_until_taken();

  SinkSettings settings_;
  Socket socket_;
  std::vector<char> head_;
  bool patient_ = true;
  std::atomic<bool> interrupted_{false};
};

}  // namespace iqd::radio::zmq
