// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

namespace iqd::radio {

std::string unreadable(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "there is no such file";
  if (!std::filesystem::is_regular_file(status)) return "not a regular file";
  errno = 0;
  if (!std::ifstream(path, std::ios::binary)) return fmt::format("cannot open: {}", std::strerror(errno));
  return {};
}

FileBytes::FileBytes(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat facts {};
  if (file_ >= 0 && ::fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode)) size_ = facts.st_size;
}

FileBytes::~FileBytes() {
  if (file_ >= 0) ::close(file_);
}

std::string FileBytes::read(std::int64_t at, std::size_t bytes) const {
  if (at < 0 || at >= size_) return {};
  std::string piece(std::min(bytes, static_cast<std::size_t>(size_ - at)), '\0');
  std::size_t done = 0;
  while (done < piece.size()) {
    const ssize_t n = ::pread(file_, piece.data() + done, piece.size() - done, at + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  piece.resize(done);
  return piece;
}

}  // namespace iqd::radio
