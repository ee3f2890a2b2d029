// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iqd {

/// The bits that a text writes, first bit first: hexadecimal digits, `2dd4` or `0x2dd4`, or bits, `0b0110`. A leading
/// `0b` always means bits; nothing for any other text.
std::optional<std::vector<std::uint8_t>> read_bits(std::string_view text);

/// How many bits such a text writes.
std::int64_t bit_count(std::string_view text) noexcept;

}  // namespace iqd
