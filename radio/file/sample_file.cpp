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
#include "radio/file/staging.hpp"

namespace iqd::radio {
namespace {

/// Sample n of channel c is at n * channels + c.
template <std::size_t Bytes>
void part_channels(const std::byte* from, std::span<std::byte* const> into, std::int64_t at, std::int64_t samples) {
  const std::size_t step = Bytes * into.size();
  for (std::size_t c = 0; c < into.size(); ++c) {
    const std::byte* source = from + c * Bytes;
    std::byte* target = into[c] + static_cast<std::size_t>(at) * Bytes;
    for (std::int64_t n = 0; n < samples; ++n, source += step, target += Bytes) std::memcpy(target, source, Bytes);
  }
}

/// Converts ci8 to sc16 with the same full scale.
void part_and_widen(const std::byte* from, std::span<std::byte* const> into, std::int64_t at, std::int64_t samples) {
  for (std::size_t c = 0; c < into.size(); ++c) {
    const auto* source = reinterpret_cast<const std::int8_t*>(from) + 2 * c;
    auto* target = reinterpret_cast<sc16*>(into[c]) + at;
    for (std::int64_t n = 0; n < samples; ++n, source += 2 * into.size())
      target[n] = {static_cast<std::int16_t>(source[0] * 256), static_cast<std::int16_t>(source[1] * 256)};
  }
}

}  // namespace

SampleFile::SampleFile(const Recording& recording)
    : path_(recording.paths.data),
      sample_bytes_(recording.format->bytes),
      frame_bytes_(sample_bytes_ * recording.meta.channels),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw SetupError(fmt::format("{}: cannot open: {}", path_, std::strerror(errno)));
  ::flock(file_, LOCK_SH | LOCK_NB);  // a growing recording may be played
  ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  const bool direct =
      recording.meta.channels == 1 && sample_bytes_ == static_cast<std::int64_t>(size_of(recording.format->element));
  if (!direct) staging_.resize(staging_bytes(static_cast<std::size_t>(frame_bytes_)));
}

SampleFile::~SampleFile() {
  ::close(file_);
}

bool SampleFile::read(std::span<std::byte* const> into, std::int64_t samples, std::int64_t byte) {
  if (staging_.empty()) return read_bytes(into[0], samples * frame_bytes_, byte);
  const std::int64_t piece = static_cast<std::int64_t>(staging_.size()) / frame_bytes_;
  for (std::int64_t at = 0; at < samples; at += piece) {
    const std::int64_t n = std::min(piece, samples - at);
    if (!read_bytes(staging_.data(), n * frame_bytes_, byte + at * frame_bytes_)) return false;
    switch (sample_bytes_) {
      case 8: part_channels<8>(staging_.data(), into, at, n); break;
      case 4: part_channels<4>(staging_.data(), into, at, n); break;
      default: part_and_widen(staging_.data(), into, at, n); break;
    }
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
