// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iqd::kernel {

/// A function declaration in a CUDA C++ text. Types are as written, without what does not change a value's type:
/// `const`, `&`, `__restrict__`, `std::`. Words are one space apart; `*` has none before it.
struct Declaration {
  struct Argument {
    std::string type;
    std::string name;
  };
  std::string name;
  std::string result;
  std::vector<Argument> arguments;
  bool is_template = false;
  bool is_device = false;  // `__device__` stands before it
  int line = 1;            // of the name, in the text
};

/// The functions that the text itself declares: not those in a class or a namespace, or in included files. Skips
/// comments and preprocessor lines. In a text that is not C++ it finds whatever looks like a function.
std::vector<Declaration> find_functions(std::string_view text);

/// The line of the first `{` that is never closed.
std::optional<int> unclosed_brace(std::string_view text);

}  // namespace iqd::kernel
