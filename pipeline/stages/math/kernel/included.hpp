// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace iqd::kernel {

inline constexpr std::size_t kMostText = 1 << 20;

/// The texts of the files that are included from beside a text, and so on: where one has changed, so has the program.
/// The compiler complains about what is not there.
struct Included {
  std::string text;     // all of them together
  std::string endless;  // a pipe or a device, which a compiler would read for ever; empty where there is none
};
Included included_by(const std::string& text, const std::filesystem::path& folder);

}  // namespace iqd::kernel
