// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/fields.hpp"

namespace iqd {

/// Checks a text before it is parsed: it must be UTF-8, without control characters and without tabs in the indentation.
/// Reports the first of each kind.
void check_text(std::string_view text, const std::string& name, Problems& problems);

/// The line of the last bracket that is open before this line, and the bracket; a parser notices it only where no
/// entry of it can be. Text in quotes and comments does not count.
std::optional<std::pair<int, char>> open_bracket(std::string_view text, int before_line);

}  // namespace iqd
