// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/npy_header.hpp"

namespace iqd {

/// An array of a .npy file, always in C order and little endian.
struct NpyArray {
  std::string dtype;                // one of <c8 <c16 <f8 <f4 <f2 <i8 <i4 <i2 <i1 <u1 |b1
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::vector<std::byte> data;

  std::int64_t size() const noexcept;  // elements
};

/// What the header of a .npy file says, and where the array lies.
struct NpyLayout {
  npy::Header header;
  std::int64_t begin = 0;  // of the array, in the file
  std::int64_t bytes = 0;  // from there to the file's end
};
/// Reads only the header. Throws UsageError with the path and the reason. The array may be shorter than its shape.
NpyLayout read_npy_layout(const std::string& path);

/// Bytes of one element; 0 for a dtype that NpyArray cannot hold.
std::size_t npy_item_bytes(std::string_view dtype) noexcept;

/// Reads a .npy file of format version 1, 2 or 3. Fortran order is transposed, big endian is swapped, |i1 and |u1
/// become <i1 and <u1. Throws UsageError with the path and the reason. Allocates nothing before it has checked that the
/// file is as long as its header says and has at most `most` elements.
NpyArray read_npy(const std::string& path, std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Writes format version 1. `data` is in C order and matches `shape`. Throws UsageError if the file cannot be created
/// or the array is invalid, SetupError if it cannot be written completely.
void write_npy(const std::string& path, std::string_view dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data);

}  // namespace iqd
