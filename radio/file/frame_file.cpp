// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/frame_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

/// A write can be interrupted by a fatal signal between two pages. Every page size is a multiple of this.
constexpr std::int64_t kPage = 4096;

}  // namespace

FrameFile::FrameFile(const std::string& path, std::int64_t frame_bytes) : frame_(frame_bytes) {
  // Another process may finish and rename the file before it is locked.
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    // Non-blocking, because a FIFO of this name would wait for a reader.
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file_ < 0) throw SetupError(fmt::format("{}: cannot create: {}", path, std::strerror(errno)));
    had_name_ = has_name();
    const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;  // some file systems have none
    if (locked && is_at(path)) return;
    ::close(file_);
    if (!locked) break;
  }
  throw SetupError(fmt::format("{}: in use: it is being recorded or played; choose another path", path));
}

FrameFile::~FrameFile() {
  ::close(file_);
}

bool FrameFile::is_locked(const std::string& path) noexcept {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return locked;
}

void FrameFile::cut(std::int64_t frames) noexcept {
  bytes_ = frames * frame_;
  [[maybe_unused]] const int done = ::ftruncate(file_, bytes_);
}

bool FrameFile::is_at(const std::string& path) const noexcept {
  struct stat own {
  }, there{};
  if (::stat(path.c_str(), &there) != 0) return errno != ENOENT;  // renamed, and nothing took its place
  return ::fstat(file_, &own) != 0 || (own.st_ino == there.st_ino && own.st_dev == there.st_dev);
}

bool FrameFile::sync() const noexcept {
  return ::fsync(file_) == 0;
}

bool FrameFile::has_name() const noexcept {
  struct stat facts {};
  return ::fstat(file_, &facts) == 0 && facts.st_nlink > 0;
}

/// Writing on to a removed file would fill the disk unnoticed.
bool FrameFile::was_removed() const noexcept {
  if (!had_name_ || has_name()) return false;
  errno = ENOENT;
  return true;
}

bool FrameFile::append_zeros(std::int64_t frames) noexcept {
  if (was_removed() || ::ftruncate(file_, bytes_ + frames * frame_) != 0) return false;
  bytes_ += frames * frame_;
  return true;
}

bool FrameFile::append(std::span<const std::byte> frames) noexcept {
  if (was_removed()) return false;
  const std::byte* from = frames.data();
  auto left = static_cast<std::int64_t>(frames.size());
  if (kPage % frame_ == 0) return write(from, left);
  while (left > 0) {
    const std::int64_t in_page = kPage - bytes_ % kPage;
    std::int64_t n = std::min(left, in_page / frame_ * frame_);
    if (n == 0) {
      // This frame crosses a page boundary, so a kill could split it: the file is extended for the whole frame first.
      n = frame_;
      if (::ftruncate(file_, bytes_ + n) != 0) return false;
    }
    if (!write(from, n)) return false;
    from += n;
    left -= n;
  }
  return true;
}

bool FrameFile::rewrite(std::int64_t at, std::span<const std::byte> bytes) noexcept {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pwrite(file_, bytes.data() + done, bytes.size() - done, at + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool FrameFile::write(const std::byte* from, std::int64_t bytes) noexcept {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(file_, from + done, static_cast<std::size_t>(bytes - done), bytes_ + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int why = n < 0 ? errno : EIO;
      cut((bytes_ + done) / frame_);
      errno = why;
      return false;
    }
    done += n;
  }
  bytes_ += bytes;
  return true;
}

}  // namespace iqd::radio
