// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace iqd {

/// Memory in which every window is contiguous: each row is `row_bytes` of memory mapped twice in succession, so a
/// window over the end continues at the beginning. Rows are equally spaced, so a window over all rows is a pitched
/// array.
class MirrorRing {
 public:
  /// `row_bytes` is a multiple of the page size. Throws SetupError.
  MirrorRing(std::size_t rows, std::size_t row_bytes);
  ~MirrorRing();
  MirrorRing(const MirrorRing&) = delete;
  MirrorRing& operator=(const MirrorRing&) = delete;

  /// Byte `offset` of a row, counted without wrapping; the next `row_bytes()` bytes are contiguous.
  std::byte* at(std::size_t row, std::size_t offset) const noexcept {
    return base_ + row * row_pitch() + offset % row_bytes_;
  }
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  std::size_t row_pitch() const noexcept { return 2 * row_bytes_; }
  std::size_t rows() const noexcept { return rows_; }
  /// All memory with both mappings, to be registered with a device.
  std::span<std::byte> mapped() const noexcept { return {base_, rows_ * row_pitch()}; }

  static std::size_t page_bytes() noexcept;

 private:
  std::size_t rows_;
  std::size_t row_bytes_;
  std::byte* base_ = nullptr;
};

}  // namespace iqd
