// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/errors.hpp"

#include <algorithm>

#include "python/native/binding.hpp"

namespace iqd::native {
namespace {

void set(const char* type, const py::object& argument) {
  const py::object made = py::module_::import("iqd._errors").attr(type)(argument);
  PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
}

}  // namespace

void set_config_error(const std::vector<std::string>& problems) {
  set("ConfigError", py::cast(problems));
}

void set_error(const std::string& what) {
  set("Error", py::str(what));
}

void raise_config(const std::vector<std::string>& problems) {
  set_config_error(problems);
  throw py::error_already_set();
}

void raise_if_any(const Problems& problems, std::span<const std::string> unplaced) {
  if (problems.empty()) return;
  std::vector<std::string> texts;
  for (Problem p : problems) {
    if (std::ranges::find(unplaced, p.place.file) != unplaced.end()) p.place.line = p.place.column = 0;
    texts.push_back(p.text());
  }
  raise_config(texts);
}

}  // namespace iqd::native
