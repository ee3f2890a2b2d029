// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/zmq/raw_line.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// Samples from messages that hold nothing else, as srsRAN's and OCUDU's ZeroMQ radio and GNU Radio's blocks send them:
/// of any length, in whole samples, one socket a channel. The k-th sample of each channel since the peers came belongs
/// to the same moment.
///
/// A message that does not hold what it should is counted and left out. What is missing cannot be known, except from
/// GNU Radio's tags; so that, and a peer that hung up, is an overflow of unknown length. Where the stream depends on
/// the peer's beginning (a question is out that nobody will answer, or there are several channels), all sockets are
/// opened anew.
class RawSource final : public Source {
 public:
  explicit RawSource(const SourceSettings& settings);
  StreamInfo info() const override { return settings_.info(); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

  /// Messages that were left out.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  void open();
  bool open_again();
  bool fill();
  bool fetch_missing();
  bool took(RawLine& line, RawLine::Came came);
  void take_leave(const RawLine& line);
  bool wait(std::int64_t until_ns);

  SourceSettings settings_;
  std::deque<RawLine> lines_;
  std::vector<zmq_pollitem_t> polled_;
  bool failed_ = false;
  bool broken_ = false;  // something is missing before the next sample
  std::int64_t lost_ = 0;
  std::uint64_t refused_ = 0;
  log::RateLimit limit_;
};

}  // namespace iqd::radio::zmq
