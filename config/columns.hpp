// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace iqd {

/// The cells of each row below those of the row before, two blanks apart; UTF-8. One line for each row.
std::string in_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace iqd
