// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/zmq/header.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// The samples of messages in iqd's wire format, wherever they come from. Messages that are invalid, or do not match the
/// settings, are counted and ignored; samples missing between two accepted messages are `lost`. A retune is reported at
/// the sample that a header names, or else at the first message with another frequency.
class SampleMessages {
 public:
  /// `name`: of the source, for the log. Without a rate, the first message has it.
  SampleMessages(std::string name, const SourceSettings& settings)
      : name_(std::move(name)), settings_(settings), frequency_hz_(settings.frequency_hz.value_or(0)) {}

  enum class Taken : std::uint8_t {
    message,
    nothing,    // it was ignored, or is empty
    restarted,  // so many samples are missing that their number means nothing
  };
  /// Both parts must remain until all samples are delivered, or the next message is taken.
  Taken take(std::string_view head, std::string_view payload);
  /// No message is taken.
  void forget() noexcept { layout_ = {}, done_ = 0; }
  /// Counts a message that could not even be read.
  void refuse(std::string_view why) { ignore(why); }

  bool has_samples() const noexcept { return done_ < layout_.samples; }
  Received deliver(std::span<std::byte* const> into, std::int64_t most);

  StreamInfo info() const;
  bool has_rate() const noexcept { return settings_.rate_hz > 0; }
  /// The number of ignored messages, and why the last one was.
  std::uint64_t refused() const noexcept { return refused_; }
  const std::string& refusal() const noexcept { return refusal_; }

 private:
  bool ignore(std::string_view why);
  bool accept(std::string_view head, std::string_view payload);
  Taken follow(const Header& header);
  void look_at_tuning(const Header& header);

  const std::string name_;
  SourceSettings settings_;
  Header header_;
  std::string_view payload_;
  Layout layout_;
  std::int64_t done_ = 0;    // samples of the message already delivered
  std::int64_t lost_ = 0;    // before its first sample
  std::int64_t tuned_ = -1;  // sample of the message at which the radio was retuned; -1: none
  double frequency_hz_;      // of the delivered samples, as far as known
  bool begun_ = false;
  std::int64_t expected_ = 0;  // source index of the next message
  std::uint64_t refused_ = 0;
  std::string refusal_;
  log::RateLimit limit_;
};

}  // namespace iqd::radio::zmq
