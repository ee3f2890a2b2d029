// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "base/file_handle.hpp"

namespace iqd::net {
namespace {

constexpr std::size_t kKeyLength = 40;
constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::string_view kAlphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw SetupError(fmt::format("{}: {}", path, why));
}
[[noreturn]] void refuse_errno(const std::string& path, std::string_view what) {
  refuse(path, fmt::format("{}: {}", what, std::strerror(errno)));
}

std::string read_file(const std::string& path, bool secret) {
  // Non-blocking: a FIFO would block the reader forever.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) refuse_errno(path, "cannot be read");
  if (!S_ISREG(about.st_mode)) refuse(path, "is not a file with keys");
  if (secret && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    refuse(path, fmt::format("other users have access to this secret key: `chmod 600 {}`, or replace the key if they "
                             "may have read it",
                             path));
  if (!secret && (about.st_mode & S_IWOTH) != 0)
    refuse(path, fmt::format("any user can write to it and add a key: `chmod o-w {}`", path));
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(about.st_size), kMostBytes + 1), '\0');
  const ssize_t n = ::read(file.get(), text.data(), text.size());
  if (n < 0) refuse_errno(path, "cannot be read");
  if (text.size() > kMostBytes) refuse(path, "is too large for a file with keys");
  text.resize(static_cast<std::size_t>(n));
  return text;
}

bool is_key(std::string_view text) {
  return text.size() == kKeyLength && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

void create(const std::filesystem::path& path, mode_t mode, const std::string& text) {
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) refuse_errno(path, "cannot be created");
  const ssize_t n = ::write(file.get(), text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0) return;
  const int error = errno;
  std::filesystem::remove(path);
  errno = error;
  refuse_errno(path, "cannot be written");
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
  std::istringstream words(read_file(path, true));
  std::string label, key;
  words >> label >> key;
  if (is_key(label) && label != "secret")
    refuse(path, "holds a public key; the secret key is in NAME.secret from `iqd keygen`");
  if (label != "secret" || !is_key(key))
    refuse(path, "is not a secret key: expected one line `secret KEY NAME`, as `iqd keygen` writes it");
  return key;
}

std::set<std::string> read_public_keys(const std::string& path) {
  std::istringstream lines(read_file(path, false));
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
      refuse(path, fmt::format("line {} is a secret key; the public key is in NAME.pub", number));
    } else if (!key.empty() && key.front() != '#') {
      refuse(path, fmt::format("line {} is not a public key: expected a line `KEY NAME`, as in NAME.pub from `iqd "
                               "keygen`",
                               number));
    }
  }
  return keys;
}

std::string read_public_key(const std::string& path) {
  const std::set<std::string> keys = read_public_keys(path);
  if (keys.size() != 1) refuse(path, fmt::format("holds {} public keys; expected one", keys.size()));
  return *keys.begin();
}

KeyFiles write_key_files(const std::filesystem::path& folder, const std::string& name, bool overwrite) {
  const KeyPair keys = make_key_pair();
  const KeyFiles files{folder / (name + ".secret"), folder / (name + ".pub")};
  for (const auto& path : {files.secret_file, files.public_file}) {
    if (overwrite) ::unlink(path.c_str());
    if (std::filesystem::exists(std::filesystem::symlink_status(path)))
      refuse(path, "already exists; --force replaces it, which locks out peers that use the old key");
  }
  create(files.secret_file, S_IRUSR | S_IWUSR, fmt::format("secret {} {}\n", keys.secret_key, name));
  try {
    create(files.public_file, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, fmt::format("{} {}\n", keys.public_key, name));
  } catch (const SetupError&) {
    std::filesystem::remove(files.secret_file);
    throw;
  }
  return files;
}

}  // namespace iqd::net
