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
  Place place;  // no file: it does not say where
  std::string what;
};

/// The errors in what a compiler printed: GCC's and Clang's `file:line:column: error: …`, NVRTC's `file(line): error:
/// …`, the linker's `undefined reference`. Not more than ten; where none is found, the last line that says anything.
std::vector<Message> errors_in(std::string_view log);

/// As problems of the user's file. What is wrong where we call the function is wrong with its declaration, or comes of
/// what is wrong before: it is told only where there is nothing else to tell.
void add_problems(const std::vector<Message>& messages, const Program& program, const Section& section);

}  // namespace iqd::kernel
