// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/packet_payload.hpp"

#include <algorithm>
#include <utility>

#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd {

PacketPayload::PacketPayload(std::int64_t bits, const WordCode& code, WordFrame frame, int order)
    : encoder_(code),
      frame_(std::move(frame)),
      sequence_(order),
      bits_(bits),
      words_(bits / frame_.size(code.n())),
      filler_(static_cast<std::size_t>(bits - words_ * frame_.size(code.n()))) {
  take_bits(PnSequence(15), bits - std::ssize(filler_), filler_);
}

std::size_t PacketPayload::scratch_bytes() const noexcept {
  return encoder_.scratch_bytes() + static_cast<std::size_t>(information());
}

void PacketPayload::encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> payload,
                           std::span<std::uint8_t> scratch) const noexcept {
  const WordCode& code = encoder_.code();
  const auto k = static_cast<std::size_t>(code.information()), n = static_cast<std::size_t>(code.n());
  const auto size = static_cast<std::size_t>(frame_.size(code.n()));
  for (std::size_t w = 0; w < static_cast<std::size_t>(words_); ++w) {
    const auto framed = payload.subspan(w * size, size);
    encoder_.encode(information.subspan(w * k, k), framed.last(n), scratch);
    frame_.close(framed);
  }
  std::copy(filler_.begin(), filler_.end(), payload.end() - std::ssize(filler_));
}

void PacketPayload::make(std::int64_t packet, std::span<std::uint8_t> payload,
                         std::span<std::uint8_t> scratch) const noexcept {
  const auto bits = scratch.last(static_cast<std::size_t>(information()));
  take_bits(sequence_, packet % sequence_.period() * information(), bits);
  encode(bits, payload, scratch.first(encoder_.scratch_bytes()));
}

}  // namespace iqd
