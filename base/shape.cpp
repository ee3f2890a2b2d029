// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/shape.hpp"

#include <fmt/format.h>

namespace iqd {

std::string to_string(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& d : dims) text += fmt::format("[{} {}]", d.name, d.extent);
  return text.empty() ? "[1]" : text;
}

}  // namespace iqd
