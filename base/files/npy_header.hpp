// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The header of a .npy file: type and order of the elements, and the array's shape.
namespace iqd::npy {

struct Kind {
  std::string_view name;  // without its byte order
  std::size_t bytes;
  std::size_t swap;  // bytes that are swapped together
};
/// For `<c8`, `>i2`, `|u1`; null if iqd does not read it.
const Kind* find_kind(std::string_view dtype) noexcept;
/// The name used in NpyArray.
std::string normal_name(const Kind& kind);
/// All supported types, for messages.
std::string supported();

struct Header {
  std::optional<std::string> descr;                         // empty for records
  std::vector<std::pair<std::string, std::string>> fields;  // of records: name and type
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Parses a header, which is a Python dictionary. Empty on success, otherwise what is wrong.
std::string parse(std::string_view text, Header& header);

}  // namespace iqd::npy
