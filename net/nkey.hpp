// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace iqd::net {

/// A key pair as users of NATS have: ed25519, in base 32 with a checksum.
struct NKey {
  std::string seed;
  std::string public_key;
};
NKey make_nkey();
/// The public key of a seed. Throws SetupError if the text is none.
std::string public_nkey(const std::string& seed);

/// Reads the seed in a file, and returns its public key. Throws SetupError, also if other users have access to it.
std::string read_nkey(const std::string& path);

struct NKeyFile {
  std::filesystem::path seed_file;
  std::string public_key;
};
/// Writes NAME.seed, which only its owner can read. Throws SetupError if it exists and `overwrite` is false.
NKeyFile write_nkey(const std::filesystem::path& folder, const std::string& name, bool overwrite);

}  // namespace iqd::net
