// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "radio/file/file_bytes.hpp"

namespace iqd::radio {

/// A regular file within a tar file.
struct TarMember {
  std::string name;
  std::int64_t begin = 0;  // of its content in the tar file
  std::int64_t bytes = 0;
};

/// The members of a tar file: ustar, pax and GNU's form. `why` gets what is wrong with it, if anything is.
std::vector<TarMember> tar_members(const FileBytes& file, std::string& why);

/// The header of a member, ustar.
std::string tar_header(const std::string& name, std::int64_t bytes);
inline constexpr std::int64_t kTarBlock = 512;  // headers and contents begin at multiples

}  // namespace iqd::radio
