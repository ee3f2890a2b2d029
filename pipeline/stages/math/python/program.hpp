// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/stages/math/python/python.hpp"

namespace iqd::python {

/// What a process loads: the text of a Python file, or the path of a model.
struct Program {
  std::string name;      // of the file, for messages
  std::string folder;    // where its imports are searched first
  std::string path;      // absolute
  std::string text;      // empty: a model
  std::string included;  // what changes if a module of its folder that it imports changes, or if the model does
  int first_line = 1;    // of the text, in the file
  bool is_model = false;

  bool is_read() const noexcept { return !name.empty(); }
};

/// Takes the program from `file` or `code`. On a mistake it adds a problem and returns false.
bool read_program(const Config& config, const Section& section, Program& program);

}  // namespace iqd::python
