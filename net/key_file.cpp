// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/file_handle.hpp"

namespace iqd::net {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

[[noreturn]] void refuse_errno(const std::string& path, std::string_view what) {
  refuse_key(path, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

void refuse_key(const std::string& path, std::string_view why) {
  throw SetupError(fmt::format("{}: {}", path, why));
}

std::string read_key_file(const std::string& path, KeyKind kind) {
  // Non-blocking: a FIFO would block the reader forever.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) refuse_errno(path, "cannot be read");
  if (!S_ISREG(about.st_mode)) refuse_key(path, "is not a file with keys");
  if (kind == KeyKind::secret && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    refuse_key(path, fmt::format("other users have access to this secret key: `chmod 600 {}`, or replace the key if "
                                 "they may have read it",
                                 path));
  if (kind == KeyKind::open && (about.st_mode & S_IWOTH) != 0)
    refuse_key(path, fmt::format("any user can write to it and add a key: `chmod o-w {}`", path));
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(about.st_size), kMostBytes + 1), '\0');
  const ssize_t n = ::read(file.get(), text.data(), text.size());
  if (n < 0) refuse_errno(path, "cannot be read");
  if (text.size() > kMostBytes) refuse_key(path, "is too large for a file with keys");
  text.resize(static_cast<std::size_t>(n));
  return text;
}

void create_key_file(const std::filesystem::path& path, KeyKind kind, const std::string& text) {
  const mode_t mode = kind == KeyKind::secret ? S_IRUSR | S_IWUSR : S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) refuse_errno(path, "cannot be created");
  const ssize_t n = ::write(file.get(), text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0) return;
  const int error = errno;
  std::filesystem::remove(path);
  errno = error;
  refuse_errno(path, "cannot be written");
}

void make_room_for_key(const std::filesystem::path& path, bool overwrite) {
  if (overwrite) ::unlink(path.c_str());
  if (std::filesystem::exists(std::filesystem::symlink_status(path)))
    refuse_key(path, "already exists; --force replaces it, which locks out peers that use the old key");
}

}  // namespace iqd::net
