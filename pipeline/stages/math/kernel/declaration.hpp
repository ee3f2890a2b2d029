// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iqd::kernel {

/// A function as it is declared in a text of CUDA C++. Types are as written, less what does not change a value's:
/// `const`, `&`, `__restrict__`, `std::`; words are one space apart, `*` has none before it.
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

/// The functions that stand in the text itself: not in a class or a namespace, not in what it includes. Comments and
/// lines of the preprocessor are passed over. Of a text that is no C++ it finds what looks like functions.
std::vector<Declaration> find_functions(std::string_view text);

/// The line of the first `{` that is never closed.
std::optional<int> unclosed_brace(std::string_view text);

}  // namespace iqd::kernel
