// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/zmq/frame.hpp"
#include "radio/zmq/header.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// Samples from messages in iqd's own wire format. Messages that are invalid, or do not match the configuration, are
/// counted and ignored; samples missing between two accepted messages are `lost`. A retune is reported at the sample
/// that a header names, or else at the first message with another frequency.
/// Without a configured rate, the constructor waits for the first message, and the rate is that of its header; it throws
/// SetupError if none comes.
class ZmqSource final : public Source {
 public:
  explicit ZmqSource(const SourceSettings& settings);
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

  /// The number of ignored messages.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  enum class Fetched { message, nothing, restarted, failed };
  Fetched fetch();
  bool fetch_frames(bool& complete);
  void wait_for_rate();
  bool refuse(std::string_view why);
  bool accept();
  Fetched follow(const Header& header);
  void look_at_tuning(const Header& header);
  Received deliver(std::span<std::byte* const> into, std::int64_t most);

  SourceSettings settings_;
  Socket socket_;
  Frame head_;
  Frame payload_;
  Header header_;
  Layout layout_;
  std::int64_t done_ = 0;    // samples of the message already delivered
  std::int64_t lost_ = 0;    // before its first sample
  std::int64_t tuned_ = -1;  // sample of the message at which the radio was retuned; -1: none
  double frequency_hz_;      // of the delivered samples, as far as known
  bool begun_ = false;
  std::int64_t expected_ = 0;  // source index of the next message
  std::uint64_t refused_ = 0;
  std::string refusal_;  // why the last ignored message was
  log::RateLimit limit_;
};

}  // namespace iqd::radio::zmq
