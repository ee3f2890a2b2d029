// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace iqd::net {

/// Secret keys are for their owner alone; anybody may read the others, but not write them.
enum class KeyKind : std::uint8_t { open, secret };

/// The text of a file with keys. Throws SetupError, also if other users have access to it that they must not have.
std::string read_key_file(const std::string& path, KeyKind kind);
/// Throws SetupError, also if the file exists.
void create_key_file(const std::filesystem::path& path, KeyKind kind, const std::string& text);
/// Removes files that keys replace. Throws SetupError if `overwrite` is false and the file exists.
void make_room_for_key(const std::filesystem::path& path, bool overwrite);

/// Throws SetupError about this file.
[[noreturn]] void refuse_key(const std::string& path, std::string_view why);

}  // namespace iqd::net
