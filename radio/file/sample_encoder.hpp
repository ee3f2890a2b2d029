// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/disk_format.hpp"

namespace iqd::radio {

/// Turns messages, [n] or [channel][n], into frames as a file has them: interleaved, and converted to its format.
/// Samples that need neither are not copied. One thread.
class SampleEncoder {
 public:
  /// Without a format, elements stay as they are.
  explicit SampleEncoder(const PortFormat& port, const DiskFormat* format = nullptr);

  std::int64_t channels() const noexcept { return channels_; }
  std::int64_t frame_bytes() const noexcept { return frame_bytes_; }
  std::size_t staging_bytes() const noexcept { return staging_.size(); }
  /// Parts that were beyond full scale so far.
  std::int64_t clipped() const noexcept { return clipped_; }

  /// Calls `put` with whole frames, piece by piece, for `count` items of a message; ends early if `put` returns false.
  template <class Put> bool encode(const Message& message, std::int64_t first, std::int64_t count, Put&& put) {
    if (staging_.empty()) {
      const auto begin = static_cast<std::size_t>(first * frame_bytes_);
      return put(message.payload.subspan(begin, static_cast<std::size_t>(count * frame_bytes_)));
    }
    const std::int64_t piece = std::ssize(staging_) / frame_bytes_;
    for (std::int64_t at = first; at < first + count; at += piece) {
      const std::int64_t n = std::min(piece, first + count - at);
      stage(message, at, n);
      if (!put(std::span<const std::byte>(staging_).first(static_cast<std::size_t>(n * frame_bytes_)))) return false;
    }
    return true;
  }

 private:
  void stage(const Message& message, std::int64_t first, std::int64_t count);

  Element element_;
  std::int64_t channels_;
  const DiskFormat* format_;  // null: no conversion
  std::int64_t frame_bytes_;
  std::vector<std::byte> staging_;
  std::int64_t clipped_ = 0;
};

}  // namespace iqd::radio
