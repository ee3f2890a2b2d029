// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "daemon/sub/message_tally.hpp"
#include "daemon/sub/message_view.hpp"

namespace iqd {

struct PrintOptions {
  bool with_topic = false;
  bool as_json = false;
  bool as_text = false;     // bytes as lines of text
  std::int64_t values = 4;  // shown of each message
};

/// Prints a message to standard output: a line, or a line for each item of text. With `as_json` it takes the header.
void print_message(MessageView& message, const PrintOptions& options);
/// `why`: what was wrong with the last malformed message.
void print_summary(const MessageTally::Totals& totals, const std::string& why, bool as_json);

}  // namespace iqd
