// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "signal/codes/word_code.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd {

/// Bits first, first + 1, … of a sequence.
void take_bits(const PnSequence& pn, std::int64_t first, std::span<std::uint8_t> bits) noexcept;

/// The data bits of a frame: from a pseudo-random sequence that continues from frame to frame, or given by the sender;
/// uncoded, or as words of a code.
///
/// A frame of B bits holds W = floor(B / n) words. Bit i of word w is element i W + w, so that a word is spread over
/// all carriers and symbols. After the words, the elements e = W n … B - 1 are the bits e of PN15. The payload of frame
/// i is the bits i I … of the sequence, with I = W k, k without the CRC's, or B without a code.
class OfdmFrameBits {
 public:
  /// `bits`: per frame; `code`: nullopt for none; `payload`: order of the sequence.
  OfdmFrameBits(std::int64_t bits, const std::optional<WordCode>& code, int payload = 23);

  std::int64_t bits() const noexcept { return bits_; }
  std::int64_t words() const noexcept { return words_; }
  /// Information bits per frame; 0 if no word fits.
  std::int64_t information() const noexcept {
    return encoder_ == nullptr ? bits_ : words_ * encoder_->code().information();
  }
  /// Null without a code.
  const WordEncoder* encoder() const noexcept { return encoder_.get(); }
  const PnSequence& sequence() const noexcept { return sequence_; }
  /// The bits after the words.
  std::span<const std::uint8_t> filler() const noexcept { return filler_; }

  /// The information bits of frame `frame`, which is not negative.
  void payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept;
  /// Data bits, 0 or 1, from information bits; only the lowest bit of each counts. `scratch`: [scratch_bytes()].
  void encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> bits,
              std::byte* scratch) const noexcept;
  /// Payload and encoding in one.
  void make(std::int64_t frame, std::span<std::uint8_t> bits, std::byte* scratch) const noexcept;
  std::size_t scratch_bytes() const noexcept;

 private:
  struct Pieces;
  std::int64_t bits_;
  std::shared_ptr<const WordEncoder> encoder_;
  std::int64_t words_;
  PnSequence sequence_;
  std::vector<std::uint8_t> filler_;
};

}  // namespace iqd
