// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "signal/codes/word_code.hpp"
#include "signal/formats/noma_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd {

/// The data bits of a NOMA frame, user 0's first. Each user has words of its own, laid out as in OfdmFrameBits: bit i of
/// word w is element i W_u + w of its D m_u bits, and PN15 fills what is left. The payload of frame i is the bits i I …
/// of the sequence, with the information bits I of all users.
class NomaFrameBits {
 public:
  /// `maps`: of each user; `code`: nullopt for none; `payload`: order of the sequence.
  NomaFrameBits(const NomaFormat& format, std::span<const SymbolMap> maps, const std::optional<WordCode>& code,
                int payload = 23);

  const OfdmFrameBits& of(std::int64_t user) const noexcept { return users_[index(user)]; }
  /// Where a user's bits begin among those of all; `users` is behind the last.
  std::int64_t first_bit(std::int64_t user) const noexcept { return first_bit_[index(user)]; }
  std::int64_t first_information(std::int64_t user) const noexcept { return first_information_[index(user)]; }
  /// Of all users.
  std::int64_t bits() const noexcept { return first_bit_.back(); }
  std::int64_t information() const noexcept { return first_information_.back(); }

  /// The information bits of all users in frame `frame`, which is not negative.
  void payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept;
  /// Data bits of the users `begin` … `end` - 1 from their information bits; only the lowest bit of each counts.
  void encode(std::int64_t begin, std::int64_t end, std::span<const std::uint8_t> information,
              std::span<std::uint8_t> bits, std::byte* scratch) const noexcept;
  std::size_t scratch_bytes() const noexcept;

 private:
  static std::size_t index(std::int64_t user) noexcept { return static_cast<std::size_t>(user); }

  std::vector<OfdmFrameBits> users_;
  std::vector<std::int64_t> first_bit_{0};
  std::vector<std::int64_t> first_information_{0};
};

}  // namespace iqd
