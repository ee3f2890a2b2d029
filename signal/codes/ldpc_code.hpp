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

/// A code; the available ones are data in ldpc_codes.hpp.
struct LdpcCode {
  std::string_view name;  // 80216e_2304_1_2
  int lift = 0;           // z
  int rows = 0;           // in blocks
  int columns = 0;
  std::span<const LdpcEntry> entries;  // sorted by row, then by column

  constexpr int n() const noexcept { return columns * lift; }
  constexpr int k() const noexcept { return (columns - rows) * lift; }
  /// Shift of the first parity block in the sum of all rows: two of its three circulants cancel.
  constexpr int first_parity_shift() const noexcept {
    int shift = 0;
    for (const LdpcEntry& e : entries)
      if (e.column == columns - rows) shift ^= e.shift;
    return shift;
  }
};
std::span<const LdpcCode> ldpc_codes();
/// Null if there is no code of this name.
const LdpcCode* find_ldpc_code(std::string_view name);

/// For keys: no code, or one of the available ones.
enum class LdpcChoice : std::uint8_t { none };
std::span<const std::string_view> enum_names(LdpcChoice);
/// Null for none.
const LdpcCode* code_of(LdpcChoice choice) noexcept;

/// A word is its k information bits, then n - k parity bits. `bits` and `word` hold 0 or 1; only the lowest bit of each
/// of `bits` counts. The parity part of all codes here is dual diagonal: the first parity block follows from the sum of
/// all rows, the others one by one.
void ldpc_encode(const LdpcCode& code, std::span<const std::uint8_t> bits, std::span<std::uint8_t> word) noexcept;
/// Returns whether the bits satisfy every check.
bool ldpc_valid(const LdpcCode& code, std::span<const std::uint8_t> word) noexcept;

}  // namespace iqd
