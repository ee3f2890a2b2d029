// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace iqd::net {

/// Keys in ZeroMQ's text format: 40 characters of Z85.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};
KeyPair make_key_pair();
std::string public_key_of(const std::string& secret_key);

/// Reads a file with one line `secret KEY NAME`. Throws SetupError, also if other users have access to it.
std::string read_secret_key(const std::string& path);
/// Reads the keys of a file with lines `KEY NAME`; ignores empty lines, and lines that begin with #.
/// Throws SetupError, also if any user can write to it.
std::set<std::string> read_public_keys(const std::string& path);
/// The same for a file with exactly one key. Throws SetupError.
std::string read_public_key(const std::string& path);

struct KeyFiles {
  std::filesystem::path secret_file;
  std::filesystem::path public_file;
};
/// Writes NAME.secret, which only its owner can read, and NAME.pub. Throws SetupError, and changes nothing, if one of
/// them exists and `overwrite` is false.
KeyFiles write_key_files(const std::filesystem::path& folder, const std::string& name, bool overwrite);

}  // namespace iqd::net
