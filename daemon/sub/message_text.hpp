// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/sub/message_view.hpp"

namespace iqd {

/// The bytes of a message as text for a terminal: one line for each row of its last dimension. The fact `length` of its
/// item gives the length of a row; without it, the row ends at its last nonzero byte. Control characters become `?`.
/// Empty if the message does not consist of bytes.
std::vector<std::string> text_lines(const MessageView& message);

}  // namespace iqd
