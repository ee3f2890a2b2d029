// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iqd::radio::zmq {

/// From a sample of a stream on, so many nanoseconds since the epoch.
struct TimeTag {
  std::int64_t sample = 0;  // of the message
  std::int64_t time_ns = 0;
};

/// What GNU Radio's ZeroMQ sinks with `pass_tags` write before the samples of a message.
struct TagHeader {
  std::size_t bytes = 0;    // the samples begin behind them
  std::int64_t offset = 0;  // of the first sample since the flowgraph began
  double rate_hz = 0;       // the last tag `rx_rate`; 0: none
};

/// Reads a header and, into `times`, its tags `rx_time`, in order; other tags are skipped. Nothing where it is not
/// that, or says what cannot be. Whatever stands there: it does not read beyond, and allocates for `times` alone, which
/// gets no more than there are bytes.
std::optional<TagHeader> parse_tag_header(std::string_view message, std::vector<TimeTag>& times);

}  // namespace iqd::radio::zmq
