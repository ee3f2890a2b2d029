// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sample_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/sample_conversion.hpp"
#include "radio/file/staging.hpp"

namespace iqd::radio {
SampleFile::SampleFile(const Recording& recording)
    : path_(recording.data),
      format_(*recording.format),
      frame_bytes_(format_.bytes * recording.channels),
      row_bytes_(recording.row_bytes),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw SetupError(fmt::format("{}: cannot open: {}", path_, std::strerror(errno)));
  ::flock(file_, LOCK_SH | LOCK_NB);  // a growing recording may be played
  ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  const bool direct = format_.as_in_memory && (recording.channels == 1 || row_bytes_ > 0);
  if (!direct) staging_.resize(staging_bytes(static_cast<std::size_t>(frame_bytes_)));
}

SampleFile::~SampleFile() {
  ::close(file_);
}

bool SampleFile::read(std::span<std::byte* const> into, std::int64_t samples, std::int64_t byte) {
  if (row_bytes_ > 0 || into.size() == 1) {
    for (std::size_t c = 0; c < into.size(); ++c)
      if (!read_row(into[c], samples, byte + static_cast<std::int64_t>(c) * row_bytes_)) return false;
    return true;
  }
  const auto element = static_cast<std::int64_t>(size_of(format_.element));
  const std::int64_t piece = static_cast<std::int64_t>(staging_.size()) / frame_bytes_;
  for (std::int64_t at = 0; at < samples; at += piece) {
    const std::int64_t n = std::min(piece, samples - at);
    if (!read_bytes(staging_.data(), n * frame_bytes_, byte + at * frame_bytes_)) return false;
    for (std::size_t c = 0; c < into.size(); ++c)
      read_samples(format_, staging_.data() + static_cast<std::int64_t>(c) * format_.bytes, frame_bytes_, n,
                   into[c] + at * element);
  }
  return true;
}

/// The samples of one channel follow each other in the file.
bool SampleFile::read_row(std::byte* into, std::int64_t samples, std::int64_t byte) {
  if (staging_.empty()) return read_bytes(into, samples * format_.bytes, byte);
  const auto element = static_cast<std::int64_t>(size_of(format_.element));
  const std::int64_t piece = static_cast<std::int64_t>(staging_.size()) / format_.bytes;
  for (std::int64_t at = 0; at < samples; at += piece) {
    const std::int64_t n = std::min(piece, samples - at);
    if (!read_bytes(staging_.data(), n * format_.bytes, byte + at * format_.bytes)) return false;
    read_samples(format_, staging_.data(), format_.bytes, n, into + at * element);
  }
  return true;
}

bool SampleFile::read_bytes(std::byte* into, std::int64_t bytes, std::int64_t from) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(file_, into + done, static_cast<std::size_t>(bytes - done), from + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      log::error("{}: {} at byte {}", path_, n < 0 ? std::strerror(errno) : "became shorter", from + done);
      return false;
    }
    done += n;
  }
  return true;
}

}  // namespace iqd::radio
