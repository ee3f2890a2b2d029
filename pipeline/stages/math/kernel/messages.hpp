// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"

namespace iqd::kernel {

/// One error of a compiler.
struct Message {
  Place place;  // without a file if the error has no place
  std::string what;
};

/// The errors in a compiler's output: GCC's and Clang's `file:line:column: error: …`, NVRTC's `file(line): error: …`,
/// the linker's `undefined reference`. At most ten; if there are none, the last line that is not blank.
std::vector<Message> errors_in(std::string_view log);

/// Adds the messages as problems of the user's file. An error where we call the function is caused by its declaration
/// or by an earlier error: it is reported only if there are no others.
void add_problems(const std::vector<Message>& messages, const Program& program, const Section& section);

}  // namespace iqd::kernel
