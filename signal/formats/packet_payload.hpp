// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signal/codes/word_code.hpp"
#include "signal/formats/pn_sequence.hpp"
#include "signal/formats/word_frame.hpp"

namespace iqd {

/// The payload of packets that carry words of a code, one after the other, each in its frame.
///
/// A payload of B bits holds W = floor(B / size of a frame) words; bits b behind them are bits b of PN15. Its information
/// is I = W k bits, k without the CRC's: those of the sender, or for packet i the bits i I … of a pseudo-random sequence.
class PacketPayload {
 public:
  /// `order`: of the sequence.
  PacketPayload(std::int64_t bits, const WordCode& code, WordFrame frame, int order = 23);

  std::int64_t bits() const noexcept { return bits_; }
  /// 0 if no word fits.
  std::int64_t words() const noexcept { return words_; }
  std::int64_t information() const noexcept { return words_ * encoder_.code().information(); }

  /// The payload of these information bits; only the lowest bit of each counts. `scratch`: [scratch_bytes()].
  void encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> payload,
              std::span<std::uint8_t> scratch) const noexcept;
  /// The payload of packet `packet`, which may be negative.
  void make(std::int64_t packet, std::span<std::uint8_t> payload, std::span<std::uint8_t> scratch) const noexcept;
  std::size_t scratch_bytes() const noexcept;

 private:
  WordEncoder encoder_;
  WordFrame frame_;
  PnSequence sequence_;
  std::int64_t bits_;
  std::int64_t words_;
  std::vector<std::uint8_t> filler_;
};

}  // namespace iqd
