// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/noma_frame_bits.hpp"

#include <algorithm>

namespace iqd {

NomaFrameBits::NomaFrameBits(const NomaFormat& format, std::span<const SymbolMap> maps,
                             const std::optional<WordCode>& code, int payload) {
  for (const SymbolMap map : maps) {
    const OfdmFrameBits& own = users_.emplace_back(format.user_bits(map), code, payload);
    first_bit_.push_back(first_bit_.back() + own.bits());
    first_information_.push_back(first_information_.back() + own.information());
  }
}

void NomaFrameBits::payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept {
  const PnSequence& sequence = users_.front().sequence();
  take_bits(sequence, frame % sequence.period() * this->information(), information);
}

void NomaFrameBits::encode(std::int64_t begin, std::int64_t end, std::span<const std::uint8_t> information,
                           std::span<std::uint8_t> bits, std::byte* scratch) const noexcept {
  for (std::int64_t u = begin; u < end; ++u)
    of(u).encode(
        information.subspan(index(first_information(u) - first_information(begin)), index(of(u).information())),
        bits.subspan(index(first_bit(u) - first_bit(begin)), index(of(u).bits())), scratch);
}

std::size_t NomaFrameBits::scratch_bytes() const noexcept {
  std::size_t most = 0;
  for (const OfdmFrameBits& user : users_) most = std::max(most, user.scratch_bytes());
  return most;
}

}  // namespace iqd
