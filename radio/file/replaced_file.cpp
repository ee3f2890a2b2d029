// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/replaced_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace iqd::radio {
namespace {

bool write_whole(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return ::fsync(file) == 0;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

bool is_passing(int error) noexcept {
  return error == EMFILE || error == ENFILE;
}

bool ReplacedFile::write(const std::string& text) const {
  ::unlink(part().c_str());
  return write_unnamed(text) || write_named(text);
}

void ReplacedFile::remove() const noexcept {
  ::unlink(part().c_str());
  ::unlink(path_.c_str());
}

/// Fails if the file system does not support it, or if /proc is missing.
bool ReplacedFile::write_unnamed(const std::string& text) const {
  const int file = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return false;
  // An existing name cannot be replaced directly, so there is a temporary one for a moment.
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file);
  const bool there =
      write_whole(file, text) && ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, part().c_str(), AT_SYMLINK_FOLLOW) == 0;
  const int why = errno;
  ::close(file);
  errno = why;
  return there && take_place();
}

bool ReplacedFile::write_named(const std::string& text) const {
  const int file = ::open(part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = write_whole(file, text);
  const int why = errno;
  ::close(file);
  if (!written) ::unlink(part().c_str());
  errno = why;
  return written && take_place();
}

bool ReplacedFile::take_place() const {
  if (::rename(part().c_str(), path_.c_str()) == 0) return true;
  const int why = errno;
  ::unlink(part().c_str());
  errno = why;
  return false;
}

}  // namespace iqd::radio
