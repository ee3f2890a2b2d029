// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Quasi-cyclic low-density parity-check codes, as tables of shifts.
namespace iqd {

/// One circulant: row i of its block takes element (i + shift) mod lift of its column of blocks.
struct LdpcEntry {
  std::int16_t row;
  std::int16_t column;
  std::int16_t shift;
};

/// A code: its information columns, then its parity columns, as many as rows. The first `core` rows involve only the
/// first `core` parity columns, whose bits they determine; each other row r determines its own, parity column r. A
/// block may have several circulants.
///
/// Encoder and decoders take any such table: the codes of 802.16e are all core and send all of their columns, those of
/// NR have a core of four rows and hide the first two columns. A code that hides its last parity columns, such as those
/// of telemetry, sets `hidden_first`.
struct LdpcCode {
  std::string_view name;  // 80216e_2304_1_2
  int lift = 0;           // z
  int rows = 0;           // in blocks
  int columns = 0;
  int core = 0;                        // rows
  int hidden_first = 0;                // the first of the columns that are never sent
  int hidden = 0;                      // how many
  std::span<const LdpcEntry> entries;  // sorted by row, then by column

  constexpr int information() const noexcept { return columns - rows; }  // columns
  constexpr int bits() const noexcept { return columns * lift; }         // of all columns
  constexpr int n() const noexcept { return (columns - hidden) * lift; }
  constexpr int k() const noexcept { return information() * lift; }
  /// Shift of the first parity block in the sum of all rows, if two of its three circulants cancel.
  constexpr int first_parity_shift() const noexcept {
    int shift = 0;
    for (const LdpcEntry& e : entries)
      if (e.column == information()) shift ^= e.shift;
    return shift;
  }
  /// The code of the first rows, at least those of the core, without the parity columns of the others.
  LdpcCode first_rows(int count) const noexcept;
};

/// The codes whose decoder is compiled with their tables: ldpc_codes.hpp.
std::span<const LdpcCode> ldpc_codes();
/// Any of these codes or of nr_codes.hpp; null if there is none of this name.
const LdpcCode* find_ldpc_code(std::string_view name);
/// For messages: all names, those of NR shortened.
std::string ldpc_code_names();

/// For keys: no code, or one of ldpc_codes().
enum class LdpcChoice : std::uint8_t { none };
std::span<const std::string_view> enum_names(LdpcChoice);
/// Null for none.
const LdpcCode* code_of(LdpcChoice choice) noexcept;

/// A word is its k information bits, then n - k parity bits. `bits` and `word` hold 0 or 1; only the lowest bit of each
/// of `bits` counts. For the codes of ldpc_codes(), whose parity part is dual diagonal: the first parity block follows
/// from the sum of all rows, the others one by one.
void ldpc_encode(const LdpcCode& code, std::span<const std::uint8_t> bits, std::span<std::uint8_t> word) noexcept;
/// Returns whether the bits of all columns satisfy every check.
bool ldpc_valid(const LdpcCode& code, std::span<const std::uint8_t> word) noexcept;

}  // namespace iqd
