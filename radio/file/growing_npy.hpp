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

/// An array in a file as NumPy reads it, which rows are added to. What the header says is there at every moment, also
/// after a kill: it is written behind the rows, now and then.
class GrowingNpy {
 public:
  /// `descr` as in the header, `'<f4'` with its quotes or a list of fields; `row`: the shape behind the first
  /// dimension. Throws SetupError.
  GrowingNpy(const std::string& path, std::string descr, std::vector<std::int64_t> row, std::int64_t row_bytes);

  /// Whole rows. False where the file takes no more: then it ends with the last that found room, and `errno` says why.
  bool append(std::span<const std::byte> rows) noexcept;
  std::int64_t rows() const noexcept;
  /// Lets the header tell of all rows. False as above.
  bool settle();

 private:
  std::string header(std::int64_t rows) const;

  std::string descr_;
  std::vector<std::int64_t> row_;
  std::int64_t row_bytes_;
  FrameFile file_;
};

}  // namespace iqd::radio
