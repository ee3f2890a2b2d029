// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/sub/message_view.hpp"

namespace iqd {

/// The bytes of a message as text, for a terminal: a line for each row of its last dimension. A row is as long as the
/// fact `length` of its item says, without one up to its last byte that is not 0. What would move the cursor becomes
/// `?`. Nothing where the message is not of bytes.
std::vector<std::string> text_lines(const MessageView& message);

}  // namespace iqd
