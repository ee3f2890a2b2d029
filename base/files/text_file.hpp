// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace iqd {

/// What a name may refer to.
enum class Readable : std::uint8_t {
  file,    // a regular file
  stream,  // also a pipe or a device, such as /dev/stdin; data has to arrive within seconds
};

/// The bytes of a file, or nothing and `why`, such as "is a folder", to be printed after the name. Takes at most `most`
/// bytes, and does not wait for a pipe without a writer, so any name from a configuration is safe.
std::optional<std::string> read_text(const std::string& path, std::size_t most, std::string& why,
                                     Readable kind = Readable::file);

}  // namespace iqd
