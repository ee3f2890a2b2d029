// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace iqd {

/// One checked message of the wire format: the payload is as long as dtype and shape say. Topic and payload are views
/// of the frames.
struct MessageView {
  std::string_view topic;
  nlohmann::json header;
  std::optional<std::uint64_t> seq;
  std::optional<std::int64_t> sample;
  std::optional<std::int64_t> time_ns;
  std::int64_t gap = 0;
  std::string dtype;
  std::vector<std::int64_t> shape;
  bool pairs = false;  // the last dimension is I and Q of one value
  std::span<const std::byte> payload;

  /// Number of values; pairs count as one complex value.
  std::int64_t values() const noexcept;
};

/// Parses the two frames; returns nothing if they are invalid, and `why` then says what is wrong. Safe for any bytes:
/// it never reads beyond them, and throws only when out of memory.
std::optional<MessageView> read_message(std::string_view head, std::span<const std::byte> payload, std::string& why);

using Value = std::variant<std::int64_t, double, std::complex<double>>;
/// The value at a flat index below `values()`.
Value value_at(const MessageView& message, std::int64_t index);

/// `0.25-1j`, `-17`.
std::string text_of(const Value& value);
/// A number, or `[re, im]`; null if not finite.
nlohmann::json json_of(const Value& value);

/// `[2][4096]`
std::string shape_text(const MessageView& message);

}  // namespace iqd
