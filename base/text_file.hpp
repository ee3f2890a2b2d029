// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace iqd {

/// What a name may stand for.
enum class Readable : std::uint8_t {
  file,    // an ordinary file
  stream,  // also a pipe or a device, as /dev/stdin; what comes has to come within seconds
};

/// The bytes of a file, or nothing and `why`, as in "is a folder": the name goes before it. Takes no more than `most`
/// bytes, and does not wait for a pipe that nobody writes to, so any name that a configuration holds may be given.
std::optional<std::string> read_text(const std::string& path, std::size_t most, std::string& why,
                                     Readable kind = Readable::file);

}  // namespace iqd
