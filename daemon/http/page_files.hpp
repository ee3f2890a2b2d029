// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace iqd {

/// A file of the live page, from daemon/page/.
struct PageFile {
  std::string_view name;
  std::string_view type;
  std::string_view hash;  // of the text
  std::string_view text;
};
/// All of them. The build writes this function.
std::span<const PageFile> page_files();

}  // namespace iqd
