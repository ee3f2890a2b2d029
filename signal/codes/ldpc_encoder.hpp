// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signal/codes/ldpc_code.hpp"

namespace iqd {

/// Encodes words of any code whose core is invertible, by steps that the constructor finds: each makes one block of
/// columns as a sum of rotated others,
///
///   block[column][i] = sum over its terms of block[term.column][(i + term.shift) mod lift]   (modulo 2).
///
/// Blocks are the code's columns, then for each row of the core the sum of its information bits. Where a row of the core
/// has one unknown block, that block follows from it; where none has, the block with most circulants follows from the
/// core's inverse over GF(2).
class LdpcEncoder {
 public:
  struct Term {
    std::int16_t column, shift;
  };
  struct Step {
    std::int32_t column, first, end;  // terms first … end - 1
  };

  /// Throws std::invalid_argument if the core is not invertible, or if a further row does not determine its column.
  explicit LdpcEncoder(const LdpcCode& code);

  int lift() const noexcept { return lift_; }
  /// Columns of the code, and sums.
  int blocks() const noexcept { return blocks_; }
  /// Of a word with its sums.
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(blocks_) * static_cast<std::size_t>(lift_); }
  std::span<const Step> steps() const noexcept { return steps_; }
  std::span<const Term> terms() const noexcept { return terms_; }

  /// Fills in all but the information columns. `word`: [blocks()][lift()], 0 or 1.
  void encode(std::span<std::uint8_t> word) const noexcept;

 private:
  int lift_;
  int blocks_;
  std::vector<Step> steps_;
  std::vector<Term> terms_;
};

}  // namespace iqd
