// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/keys.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/error.hpp"
#include "net/key_file.hpp"

namespace iqd::net {
namespace {

constexpr std::size_t kKeyLength = 40;
constexpr std::string_view kAlphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

bool is_key(std::string_view text) {
  return text.size() == kKeyLength && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

}  // namespace

KeyPair make_key_pair() {
  std::array<char, kKeyLength + 1> open{}, secret{};
  if (::zmq_curve_keypair(open.data(), secret.data()) != 0)
    throw SetupError("this libzmq was built without CURVE: cannot create keys");
  return {open.data(), secret.data()};
}

std::string public_key_of(const std::string& secret_key) {
  std::array<char, kKeyLength + 1> open{};
  if (::zmq_curve_public(open.data(), secret_key.c_str()) != 0)
    throw SetupError("this libzmq was built without CURVE: keys are useless");
  return open.data();
}

// Errors about a secret key's file never contain the key.
std::string read_secret_key(const std::string& path) {
  std::istringstream words(read_key_file(path, KeyKind::secret));
  std::string label, key;
  words >> label >> key;
  if (is_key(label) && label != "secret")
    refuse_key(path, "holds a public key; the secret key is in NAME.secret from `iqd keygen`");
  if (label != "secret" || !is_key(key))
    refuse_key(path, "is not a secret key: expected one line `secret KEY NAME`, as `iqd keygen` writes it");
  return key;
}

std::set<std::string> read_public_keys(const std::string& path) {
  std::istringstream lines(read_key_file(path, KeyKind::open));
  std::set<std::string> keys;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (is_key(key)) {
      keys.insert(key);
    } else if (key == "secret") {
      refuse_key(path, fmt::format("line {} is a secret key; the public key is in NAME.pub", number));
    } else if (!key.empty() && key.front() != '#') {
      refuse_key(path, fmt::format("line {} is not a public key: expected a line `KEY NAME`, as in NAME.pub from `iqd "
                                   "keygen`",
                                   number));
    }
  }
  return keys;
}

std::string read_public_key(const std::string& path) {
  const std::set<std::string> keys = read_public_keys(path);
  if (keys.size() != 1) refuse_key(path, fmt::format("holds {} public keys; expected one", keys.size()));
  return *keys.begin();
}

KeyFiles write_key_files(const std::filesystem::path& folder, const std::string& name, bool overwrite) {
  const KeyPair keys = make_key_pair();
  const KeyFiles files{folder / (name + ".secret"), folder / (name + ".pub")};
  make_room_for_key(files.secret_file, overwrite);
  make_room_for_key(files.public_file, overwrite);
  create_key_file(files.secret_file, KeyKind::secret, fmt::format("secret {} {}\n", keys.secret_key, name));
  try {
    create_key_file(files.public_file, KeyKind::open, fmt::format("{} {}\n", keys.public_key, name));
  } catch (const SetupError&) {
    std::filesystem::remove(files.secret_file);
    throw;
  }
  return files;
}

}  // namespace iqd::net
