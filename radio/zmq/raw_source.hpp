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

/// Samples from messages without headers, as srsRAN's and OCUDU's ZeroMQ radio and GNU Radio's blocks send them: of any
/// length, in whole samples, one socket per channel. The k-th samples of all channels since the peers connected belong
/// to the same time.
/// Invalid messages are counted and ignored. The number of missing samples is unknown, except with GNU Radio's tags, so
/// an invalid message, or a peer that hangs up, is an overflow of unknown length. If the stream depends on where the
/// peer starts (a request will never be answered, or there are several channels), all sockets are opened again.
class RawSource final : public Source {
 public:
  explicit RawSource(const SourceSettings& settings);
  StreamInfo info() const override { return settings_.info(); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;

  /// The number of ignored messages.
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
  bool broken_ = false;  // samples are missing before the next one
  std::int64_t lost_ = 0;
  std::uint64_t refused_ = 0;
  log::RateLimit limit_;
};

}  // namespace iqd::radio::zmq
