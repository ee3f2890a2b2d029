// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/views.hpp"
#include "signal/codes/word_code.hpp"

/// What is sent with a word, as CCSDS 131.0-B and IRIG 106 have it: a marker before it (attached sync marker,
/// ASM), and a pseudo-random sequence that is added to its bits.
namespace iqd {

/// x^8 + x^7 + x^5 + x^3 + 1, from ones: s(i) = s(i - 1) + s(i - 3) + s(i - 5) + s(i - 8) modulo 2. It begins with FF 48
/// 0E C0.
class WordSequence {
 public:
  static constexpr int kPeriod = 255;

  constexpr WordSequence() noexcept {
    std::uint32_t state = 0xff;  // s(i) … s(i + 7), the first of them the highest
    for (int i = 0; i < kPeriod; ++i) {
      bits_[i / 32] |= (state >> 7 & 1) << (i % 32);
      state = (state << 1 | ((state ^ state >> 2 ^ state >> 4 ^ state >> 7) & 1)) & 0xff;
    }
  }
  /// What is added to bit i of a word.
  IQD_HOST_DEVICE constexpr bool at(int i) const noexcept {
    const int n = i % kPeriod;
    return (bits_[n / 32] >> (n % 32) & 1) != 0;
  }

 private:
  std::uint32_t bits_[(kPeriod + 31) / 32] = {};
};

enum class Randomize : std::uint8_t { off, ccsds };
std::span<const std::string_view> enum_names(Randomize);

struct WordFrame {
  std::vector<std::uint8_t> marker = {};  // 0 or 1; is not randomized
  bool is_randomized = false;

  bool is_bare() const noexcept { return marker.empty() && !is_randomized; }
  /// Bits of the frame of a word of n bits.
  std::int64_t size(std::int64_t n) const noexcept { return std::ssize(marker) + n; }
  /// Fills in the marker at the beginning of `frame`, and randomizes the word behind it, which is there.
  void close(std::span<std::uint8_t> frame) const noexcept;
};

/// An operator's choice.
struct FrameChoice {
  std::string marker = "none";  // none, irig or as `read_bits` takes it
  Randomize randomize = Randomize::off;

  /// What is wrong with the marker.
  std::optional<std::string> fault(const LdpcCode& code) const;
  /// Without a fault. The markers of IRIG 106 follow from the code: A for k = 1024, A A A' A for k = 4096, A' the
  /// complement of A.
  WordFrame frame(const LdpcCode& code) const;
};

}  // namespace iqd
