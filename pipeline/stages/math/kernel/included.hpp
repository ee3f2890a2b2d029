// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace iqd::kernel {

/// The texts of all files that a text includes from its folder, directly or not: if one changes, the program changes.
/// The compiler reports missing ones.
struct Included {
  std::string text;     // all of them together
  std::string endless;  // a pipe or a device, which a compiler would read without end; empty if there is none
};
Included included_by(const std::string& text, const std::filesystem::path& folder);

}  // namespace iqd::kernel
