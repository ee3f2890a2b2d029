// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signal/codes/ldpc_code.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd {

/// What a frame's data bits are: those of a pseudo-random sequence that goes on from frame to frame or of whoever
/// sends; as they are, or as words of a code.
///
/// A frame of B bits holds W = floor(B / n) words. Bit i of word w is element i W + w, so that a word is spread over
/// all carriers and symbols; behind them, at the elements e = W n … B - 1, stand the bits e of PN15. Frame i's payload
/// are the bits i I … of the sequence, I = W k, or without a code B.
class OfdmFrameBits {
 public:
  /// `bits` of a frame; `code` is null where there is none; `payload` is the sequence's order.
  OfdmFrameBits(std::int64_t bits, const LdpcCode* code, int payload = 23);

  std::int64_t bits() const noexcept { return bits_; }
  std::int64_t words() const noexcept { return words_; }
  /// Of a frame. It is 0 where no word fits.
  std::int64_t information() const noexcept { return code_ == nullptr ? bits_ : words_ * code_->k(); }
  const LdpcCode* code() const noexcept { return code_; }
  const PnSequence& sequence() const noexcept { return sequence_; }
  /// What stands behind the words.
  std::span<const std::uint8_t> filler() const noexcept { return filler_; }

  /// The information bits of frame number `frame`, which is not negative.
  void payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept;
  /// Data bits, 0 or 1, of information bits, which count by their lowest bit. `scratch`: [scratch_bytes()].
  void encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> bits,
              std::byte* scratch) const noexcept;
  /// Both.
  void make(std::int64_t frame, std::span<std::uint8_t> bits, std::byte* scratch) const noexcept;
  std::size_t scratch_bytes() const noexcept;

 private:
  std::int64_t bits_;
  const LdpcCode* code_;
  std::int64_t words_;
  PnSequence sequence_;
  std::vector<std::uint8_t> filler_;
};

}  // namespace iqd
