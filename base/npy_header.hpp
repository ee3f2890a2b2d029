// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What stands in the header of a .npy file: the elements' type, their order and the array's shape.
namespace iqd::npy {

struct Kind {
  std::string_view name;  // without its byte order
  std::size_t bytes;
  std::size_t swap;  // bytes that are turned round together
};
/// Null where iqd does not read it. `<c8`, `>i2`, `|u1`.
const Kind* find_kind(std::string_view dtype) noexcept;
/// As NpyArray calls it.
std::string normal_name(const Kind& kind);
/// All of them, for messages.
std::string supported();

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Reads the Python dictionary that a header is. Empty when all went well, else what is wrong.
std::string parse(std::string_view text, Header& header);

}  // namespace iqd::npy
