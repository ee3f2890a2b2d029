// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace iqd::net {

/// Keys are kept as ZeroMQ writes them: 40 characters of Z85.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};
KeyPair make_key_pair();
std::string public_key_of(const std::string& secret_key);

/// A file with one line `secret KEY NAME`. Throws SetupError, also where others than its owner may read it.
std::string read_secret_key(const std::string& path);
/// The keys of a file with a line `KEY NAME` each; empty lines, and those that begin with #, are left out.
/// Throws SetupError, also where everybody may write to it.
std::set<std::string> read_public_keys(const std::string& path);
/// The same for a file that has one. Throws SetupError.
std::string read_public_key(const std::string& path);

struct KeyFiles {
  std::filesystem::path secret_file;
  std::filesystem::path public_file;
};
/// Makes NAME.secret, which only its owner can read, and NAME.pub. Throws SetupError, and changes nothing, where one of
/// them is there and `overwrite` is not said.
KeyFiles write_key_files(const std::filesystem::path& folder, const std::string& name, bool overwrite);

}  // namespace iqd::net
