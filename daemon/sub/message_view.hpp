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

/// One message of the wire format, checked: the payload is as long as dtype and shape say. Topic and payload lie where
/// the frames lie.
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

  /// Complex values where they come in pairs.
  std::int64_t values() const noexcept;
};

/// Takes the two frames apart; nothing where they are not what they should be, and `why` then says what is wrong.
/// Whatever the bytes are: it neither throws (but for want of memory) nor reads beyond them.
std::optional<MessageView> read_message(std::string_view head, std::span<const std::byte> payload, std::string& why);

using Value = std::variant<std::int64_t, double, std::complex<double>>;
/// The value at a flat index below `values()`.
Value value_at(const MessageView& message, std::int64_t index);

/// `0.25-1j`, `-17`.
std::string text_of(const Value& value);
/// A number, or `[re, im]`; what is not finite is null.
nlohmann::json json_of(const Value& value);

/// `[2][4096]`
std::string shape_text(const MessageView& message);

}  // namespace iqd
