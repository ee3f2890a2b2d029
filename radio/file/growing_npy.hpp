// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "radio/file/frame_file.hpp"

namespace iqd::radio {

/// A growing NumPy array in a file. The rows that its header counts always exist, even after a kill: the header is
/// updated after the rows, now and then.
class GrowingNpy {
 public:
  /// `descr` as in the header: `'<f4'` with its quotes, or a list of fields. `row`: the shape without the first
  /// dimension.
  /// Throws SetupError.
  GrowingNpy(const std::string& path, std::string descr, std::vector<std::int64_t> row, std::int64_t row_bytes);

  /// Before the first row: changes what a row is. Returns false if it cannot be written, and `errno` has the reason.
  bool redefine(std::string descr, std::int64_t row_bytes);
  /// Appends whole rows. Returns false if the file takes no more: then it ends with the last row that fit, and `errno`
  /// has the reason.
  bool append(std::span<const std::byte> rows) noexcept;
  std::int64_t rows() const noexcept;
  /// Makes the header count all rows. Returns false as above.
  bool settle();

 private:
  bool begin();
  std::string header(std::int64_t rows) const;

  std::string descr_;
  std::vector<std::int64_t> row_;
  std::int64_t row_bytes_;
  std::int64_t header_bytes_;
  FrameFile file_;
};

}  // namespace iqd::radio
