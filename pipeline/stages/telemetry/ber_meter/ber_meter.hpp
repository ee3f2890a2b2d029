// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"

/// Counts the errors of packets of bits against a known sequence; a packet may begin anywhere in the sequence.
///
/// bits    [packet][kind][bit]  u8, each counts by its lowest bit; in [frame][word][bit] each word is a packet; in
///                              [frame][user][t][bit] users are counted separately, as kinds are, and so are the words
///                              of each user if `words` says how many each has
/// modulation  [frame][tx]    u8, optional: of [frame][…][tx][bit], how many bits of each antenna's points are there; the
///                              others are left out
/// iterations  [frame][word]  i32, optional: words with 0 are left out
/// report  [event][kind]        i64: packets, bits, bit_errors, packet_errors, unaligned
///
/// Every packet of every kind is aligned on its own. 32 short windows are spread over the packet; at each place in the
/// sequence where one of them occurs, the whole packet is compared, and the fewest errors count. If more than a quarter
/// of the bits are wrong everywhere, the packet is unaligned: it counts as a packet in error, and its bits are not
/// counted.
///
/// Keeps nothing between calls.
namespace iqd::ber_meter {

struct Config {
  std::string sequence;
  std::vector<std::int64_t> words;
  std::vector<std::string> modulation;

  void fields(FieldVisitor& visitor);
};

enum Event : std::size_t { kPackets, kBits, kBitErrors, kPacketErrors, kUnaligned };
inline constexpr std::string_view kEvents[] = {"packets", "bits", "bit_errors", "packet_errors", "unaligned"};

/// 64 bits a word, LSB first; zeros behind the last bit, with at least a whole word of them at the end.
struct PackedBits {
  std::span<const std::uint64_t> words;
  std::int64_t size = 0;

  static std::int64_t words_for(std::int64_t bits) noexcept { return (bits + 63) / 64 + 1; }
  /// Bits n … n + 63.
  std::uint64_t at(std::int64_t n) const noexcept {
    const auto word = static_cast<std::size_t>(n / 64);
    const auto shift = static_cast<unsigned>(n % 64);
    return shift == 0 ? words[word] : words[word] >> shift | words[word + 1] << (64 - shift);
  }
};
PackedBits pack(std::span<const std::uint8_t> bits, std::span<std::uint64_t> into) noexcept;

/// An endless sequence.
class Sequence {
 public:
  virtual ~Sequence() = default;
  /// The number of bits that identify a position in it; packets have at least as many.
  virtual std::int64_t window() const noexcept = 0;
  /// Errors at the position that fits best if they are fewer than `limit`, otherwise `limit`.
  virtual std::int64_t fewest_errors(const PackedBits& packet, std::int64_t limit) const noexcept = 0;
};

/// Pseudo-random bits of order 9, 15 or 23.
std::unique_ptr<Sequence> pn_sequence(int order);
/// Repeats these bits; there is at least one.
std::unique_ptr<Sequence> periodic_sequence(const std::vector<std::uint8_t>& bits);

/// Counts `kinds` packets of `bits.size() / kinds` bits, all of the same time, and adds to the report. One packet at a
/// time is packed into `scratch`.
void count_packets(const Sequence& sequence, std::span<const std::uint8_t> bits, std::int64_t kinds,
                   std::span<std::int64_t> report, std::span<std::uint64_t> scratch) noexcept;

}  // namespace iqd::ber_meter
