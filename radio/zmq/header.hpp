// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/element.hpp"

namespace iqd::radio::zmq {

/// What a source needs from the first frame of a message. Texts point into the frame.
struct Header {
  std::string_view topic;
  std::optional<std::int64_t> sample;
  std::optional<std::int64_t> time_ns;
  std::int64_t gap = 0;
  std::optional<std::int64_t> tuned;
  double frequency_hz = 0;    // 0: not given
  double sample_rate_hz = 0;  // 0: not given
  double item_rate_hz = 0;
  std::string_view dtype;
  std::string_view datatype;
  std::array<std::int64_t, 4> shape{};
  int rank = -1;  // dimensions; -1: no shape
};

/// Parses `topic {json}`; returns nothing for any other text. For any input it neither allocates nor reads beyond the
/// end. Unknown keys are skipped, and a null counts as a missing key.
std::optional<Header> parse_header(std::string_view frame) noexcept;

/// The layout of samples in a payload.
struct Layout {
  Element element = Element::cf32;
  std::int64_t channels = 1;
  std::int64_t samples = 0;
};

/// Whether this NumPy type is one of those that `layout_of` takes.
bool is_readable(std::string_view dtype) noexcept;

/// Returns nothing if the message is not `[n]` or `[channel][n]` of cf32, sc16 or f32, or has the wrong number of
/// bytes.
std::optional<Layout> layout_of(const Header& header, std::size_t payload_bytes) noexcept;

}  // namespace iqd::radio::zmq
