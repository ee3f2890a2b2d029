// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/driver.hpp"
#include "radio/zmq/frame.hpp"
#include "radio/zmq/sample_messages.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// Samples from messages in iqd's own wire format, see SampleMessages. Without a configured rate, the constructor waits
/// for the first message, and the rate is that of its header; it throws SetupError if none comes.
class ZmqSource final : public Source {
 public:
  explicit ZmqSource(const SourceSettings& settings);
  StreamInfo info() const override { return samples_.info(); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

  /// The number of ignored messages.
  std::uint64_t refused() const noexcept { return samples_.refused(); }

 private:
  enum class Fetched { message, nothing, restarted, failed };
  Fetched fetch();
  bool fetch_frames(bool& complete);
  void wait_for_rate();

  const std::string address_;
  Socket socket_;
  Frame head_;
  Frame payload_;
  SampleMessages samples_;
};

}  // namespace iqd::radio::zmq
