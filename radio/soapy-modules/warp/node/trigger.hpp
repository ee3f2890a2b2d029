// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "radio/soapy-modules/warp/node/udp.hpp"

namespace iqd::warp {

/// When a trigger left, by both clocks of the host.
struct Shot {
  std::int64_t wall_ns = 0;
  std::int64_t steady_ns = 0;
};

/// The trigger of all nodes of a device. It starts whatever is armed, so captures and bursts take turns: none begins
/// while another is running, except for a capture that waits for a burst. Each wait ends by a deadline (steady_ns).
class Trigger {
 public:
  struct Options {
    sockaddr_in address{};  // of all nodes
    std::uint16_t host = 250;
    std::uint32_t id = 1;  // one bit
  };
  explicit Trigger(const Options& options) : options_(options) {}

  // For the receiver.
  /// Returns false if a burst is still being sent.
  bool begin_capture(std::int64_t deadline_ns);
  Shot fire();
  /// Makes the capture that is armed begin with the next burst.
  void await_burst();
  /// When that burst began.
  std::optional<Shot> burst(std::int64_t deadline_ns);
  void end_capture();

  // For the transmitter.
  /// Returns false if a capture is still being taken or read; waits at most a second for one that nobody reads.
  bool begin_burst(std::int64_t deadline_ns);
  /// With `wall_ns`, the burst counts as begun at that time.
  Shot fire_burst(std::optional<std::int64_t> wall_ns);
  void end_burst();

  std::uint32_t id() const noexcept { return options_.id; }

 private:
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  UdpSocket socket_;
  std::uint16_t sequence_ = 0;
  bool capture_ = false;
  std::int64_t capture_since_ns_ = 0;
  bool burst_ = false;
  bool awaited_ = false;
  std::optional<Shot> begun_;  // when the burst began that a capture awaited
};

}  // namespace iqd::warp
