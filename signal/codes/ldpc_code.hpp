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
/// block has one circulant at most where a decoder is to take the code.
///
/// Encoder and decoders take any such table: the codes of 802.16e are all core and send all of their columns, those of
/// NR have a core of four rows and hide the first two columns, those of telemetry are all core and hide the last four.
struct LdpcCode {
  std::string_view name;  // 80216e_2304_1_2
  int lift = 0;           // z
  int rows = 0;           // in blocks
  int columns = 0;
  int core = 0;                        // rows
  int hidden_first = 0;                // the first of the columns that are never sent
  int hidden = 0;                      // how many
  int iterations = 15;                 // of a decoder, by default
  std::span<const LdpcEntry> entries;  // sorted by row, then by column

  constexpr int information() const noexcept { return columns - rows; }  // columns
  constexpr int bits() const noexcept { return columns * lift; }         // of all columns
  constexpr int n() const noexcept { return (columns - hidden) * lift; }
  constexpr int k() const noexcept { return information() * lift; }
  /// The code of the first rows, at least those of the core, without the parity columns of the others.
  LdpcCode first_rows(int count) const noexcept;
};

/// The codes whose decoder is compiled with their tables: ldpc_codes.hpp.
std::span<const LdpcCode> ldpc_codes();
/// Any of these codes, of irig_codes.hpp or of nr_codes.hpp; null if there is none of this name.
const LdpcCode* find_ldpc_code(std::string_view name);
/// For messages: all names, those of NR shortened.
std::string ldpc_code_names();

/// Returns whether the bits of all columns satisfy every check.
bool ldpc_valid(const LdpcCode& code, std::span<const std::uint8_t> word) noexcept;

}  // namespace iqd
