// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace iqd {

/// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t utf8_character(std::string_view text) noexcept;

bool is_control(char c) noexcept;

/// At most `bytes` of the start of a UTF-8 text, whole characters only.
std::string utf8_start(std::string_view text, std::size_t bytes);

/// Text from outside, safe for one line of a terminal or a log: `?` replaces control characters, line ends and bytes that
/// are not UTF-8.
std::string printable(std::string_view text);

}  // namespace iqd
