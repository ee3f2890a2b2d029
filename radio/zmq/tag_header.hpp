// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iqd::radio::zmq {

/// A time stamp: nanoseconds since the epoch at a sample.
struct TimeTag {
  std::int64_t sample = 0;  // index in the message
  std::int64_t time_ns = 0;
};

/// The header that GNU Radio's ZeroMQ sinks with `pass_tags` write before the samples of a message.
struct TagHeader {
  std::size_t bytes = 0;    // length of the header
  std::int64_t offset = 0;  // of the first sample, since the flowgraph began
  double rate_hz = 0;       // from the last tag `rx_rate`; 0: none
};

/// Parses a header, and stores its tags `rx_time` in order in `times`; other tags are skipped. Returns nothing for
/// invalid or impossible headers. For any input it does not read beyond the end, and allocates only for `times`, which
/// never has more entries than the input has bytes.
std::optional<TagHeader> parse_tag_header(std::string_view message, std::vector<TimeTag>& times);

}  // namespace iqd::radio::zmq
