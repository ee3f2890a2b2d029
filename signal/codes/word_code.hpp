// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signal/codes/ldpc_code.hpp"
#include "signal/codes/ldpc_encoder.hpp"
#include "signal/codes/sent_bits.hpp"
#include "signal/codes/word_crc.hpp"

/// Words as they are sent: a code, which of its bits are sent, and a CRC.
namespace iqd {

struct WordCode {
  LdpcCode code;  // only the rows that reach a bit that is sent
  SentBits sent;
  WordCrc crc = WordCrc::none;
  int k = 0;  // bits before filler, CRC included

  int information() const noexcept { return k - bits_of(crc); }
  int n() const noexcept { return sent.count; }
  /// Whether it is a code as it stands: all its bits are sent once, in their order, and there is no CRC.
  bool is_plain() const noexcept {
    return crc == WordCrc::none && code.hidden == 0 && k == code.k() && sent.begin == 0 && sent.planes == 1 &&
           sent.count == code.n();
  }
};

/// A whole code: all bits are information and parity, and all but hidden ones are sent.
WordCode whole_code(const LdpcCode& code, WordCrc crc = WordCrc::none);

/// A word of NR, of `k` bits, CRC included, sent as `e` bits: TS 38.212, 5.2.2, 5.3.2, 5.4.2.
struct NrWord {
  std::int64_t k = 0;
  std::int64_t e = 0;
  int rv = 0;      // 0 … 3: where in the ring sending begins
  int planes = 1;  // of the bit interleaver: bits of a point; 1: off
  int graph = 0;   // 1 or 2; 0: by length and rate
};
inline constexpr std::int64_t kNrMostBits[] = {8448, 3840};  // of a word, for graphs 1 and 2

/// 1 or 2.
int nr_graph(const NrWord& word) noexcept;
/// The least lifting size that holds k bits, at most kNrMostBits.
int nr_lift(int graph, std::int64_t k) noexcept;
/// k is 1 … kNrMostBits of its graph, e is positive and a multiple of `planes`.
WordCode nr_code_of(const NrWord& word, WordCrc crc = WordCrc::none);

/// How a block that is too long for a word is split: TS 38.212, 5.2.2.
struct NrSegments {
  std::int64_t count;
  std::int64_t k;  // of each word, with its CRC (24B) if there are several
};
NrSegments nr_segments(std::int64_t bits, int graph) noexcept;

/// Encodes words from their information bits.
class WordEncoder {
 public:
  explicit WordEncoder(const WordCode& code);

  const WordCode& code() const noexcept { return code_; }
  const LdpcEncoder& ldpc() const noexcept { return ldpc_; }
  std::size_t scratch_bytes() const noexcept { return ldpc_.bytes(); }
  /// Only the lowest bit of each of `information` counts. `word`: [n], 0 or 1; `scratch`: [scratch_bytes()].
  void encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> word,
              std::span<std::uint8_t> scratch) const noexcept;
  /// For preparations; allocates.
  std::vector<std::uint8_t> encoded(std::span<const std::uint8_t> information) const;

 private:
  /// Bits that follow each other in the code and in the word that is sent.
  struct Run {
    std::int32_t position, count;
  };

  WordCode code_;
  LdpcEncoder ldpc_;
  std::vector<Run> runs_;  // in the order of the word that is sent
};

}  // namespace iqd
