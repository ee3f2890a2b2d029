// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/file_handle.hpp"

namespace iqd {
namespace {

constexpr int kPatienceMs = 5000;

std::string size_text(std::size_t bytes) {
  if (bytes >= 1u << 20) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} bytes", bytes);
}

/// Why it may not be read; empty if it may.
std::string fault_of(const struct stat& about, std::size_t most, Readable kind) {
  if (S_ISDIR(about.st_mode)) return "is a folder";
  if (!S_ISREG(about.st_mode) && (kind == Readable::file || S_ISBLK(about.st_mode))) return "is not a regular file";
  if (S_ISREG(about.st_mode) && static_cast<std::size_t>(about.st_size) > most)
    return "is larger than " + size_text(most);
  return {};
}

/// Reads to the end; returns why not, or an empty text.
std::string read_all(int file, std::size_t most, std::string& text) {
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t got = ::read(file, piece.data(), std::min(piece.size(), most + 1 - text.size()));
    if (got == 0) return {};
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
      if (text.size() > most) return "is larger than " + size_text(most);
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = file, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, kPatienceMs) == 0) return "cannot be read: no data arrives";
    } else if (errno != EINTR) {
      return fmt::format("cannot be read: {}", std::strerror(errno));
    }
  }
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, std::size_t most, std::string& why, Readable kind) {
  // Non-blocking, since opening a pipe would wait for a writer.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    why = fmt::format("cannot be read: {}", std::strerror(errno));
    return std::nullopt;
  }
  std::string text;
  why = fault_of(about, most, kind);
  if (why.empty()) why = read_all(file.get(), most, text);
  if (!why.empty()) return std::nullopt;
  return text;
}

}  // namespace iqd
