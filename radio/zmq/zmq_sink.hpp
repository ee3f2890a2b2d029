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

/// Sends each message as two frames in iqd's wire format. A push socket whose queue is full, or that has no peer, is
/// waited for once; as long as it takes nothing, later messages are lost at once. A pub socket never waits.
class ZmqSink final : public Sink {
 public:
  ZmqSink(const SinkSettings& settings, const PortFormat& format);
  bool send(const Message& message) override;
  /// What is still queued has ten seconds to leave after the socket is closed.
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
