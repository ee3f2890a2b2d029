// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Quasi-cyclic low-density parity-check codes, as tables of shifts.
namespace iqd {

/// One circulant: row i of its block takes element (i + shift) mod lift of its column of blocks.
struct LdpcEntry {
  std::int16_t row;
  std::int16_t column;
  std::int16_t shift;
};

/// A code; those that there are lie in ldpc_codes.hpp as data.
struct LdpcCode {
  std::string_view name;  // 80216e_2304_1_2
  int lift = 0;           // z
  int rows = 0;           // of blocks
  int columns = 0;
  std::span<const LdpcEntry> entries;  // by rows, in a row by columns

  constexpr int n() const noexcept { return columns * lift; }
  constexpr int k() const noexcept { return (columns - rows) * lift; }
  /// Of the first parity block in the sum of all rows: two of its three circulants cancel.
  constexpr int first_parity_shift() const noexcept {
    int shift = 0;
    for (const LdpcEntry& e : entries)
      if (e.column == columns - rows) shift ^= e.shift;
    return shift;
  }
};
std::span<const LdpcCode> ldpc_codes();
/// Null where there is none of this name.
const LdpcCode* find_ldpc_code(std::string_view name);

/// For keys: no code, or one of those there are.
enum class LdpcChoice : std::uint8_t { none };
std::span<const std::string_view> enum_names(LdpcChoice);
/// Null where it is none.
const LdpcCode* code_of(LdpcChoice choice) noexcept;

/// A word is its k information bits, then n - k parity bits. `bits` and `word` hold 0 or 1; `bits` counts by its
/// lowest bit. The parity part of all codes here is dual diagonal: the first parity block follows from the sum of all
/// rows, the others one by one.
void ldpc_encode(const LdpcCode& code, std::span<const std::uint8_t> bits, std::span<std::uint8_t> word) noexcept;
/// Whether the bits fulfil every check.
bool ldpc_valid(const LdpcCode& code, std::span<const std::uint8_t> word) noexcept;

}  // namespace iqd
