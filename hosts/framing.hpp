// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace iqd::hosts {

/// What stands before the rows of a message: the length of the header (u32), the header, zeros up to a multiple of 64
/// bytes.
std::string framed(std::string_view head);

/// The header and the rows of a message from anywhere. False: it is none.
bool split(std::string_view message, std::string_view& head, std::string_view& rows) noexcept;

}  // namespace iqd::hosts
