// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace iqd::radio {

/// How problems ask for what a file does not say: for keys of a pipeline file, unless a command has options for it.
struct Wording {
  std::string_view rate = "set `rate`, such as `rate: 2.4 MS/s`";
  std::string_view format = "set `format` (and `rate`)";
};

}  // namespace iqd::radio
