// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/ofdm_frame_bits.hpp"

#include <algorithm>
#include <functional>

#include "signal/filters/scratch.hpp"

namespace iqd {

/// From b(n) = b(n - tap) ^ b(n - order) follows b(n) = b(n - 16 tap) ^ b(n - 16 order), the 16th power of the
/// polynomial: it computes many bits at once, seven times as fast as one by one.
void take_bits(const PnSequence& pn, std::int64_t first, std::span<std::uint8_t> bits) noexcept {
  const std::size_t step = 16 * static_cast<std::size_t>(pn.tap()), reach = 16 * static_cast<std::size_t>(pn.order());
  std::uint32_t state = pn.state_at(first);
  for (std::uint8_t& bit : bits.first(std::min(reach, bits.size()))) {
    bit = static_cast<std::uint8_t>(pn.bit(state));
    state = pn.next(state);
  }
  for (std::size_t n = reach; n < bits.size(); n += step) {
    const auto older = bits.subspan(n - step, std::min(step, bits.size() - n));
    std::transform(older.begin(), older.end(), bits.begin() + static_cast<std::ptrdiff_t>(n - reach),
                   bits.begin() + static_cast<std::ptrdiff_t>(n), std::bit_xor<>());
  }
}

OfdmFrameBits::OfdmFrameBits(std::int64_t bits, const std::optional<WordCode>& code, int payload)
    : bits_(bits), words_(code ? bits / code->n() : 0), sequence_(payload) {
  if (!code) return;
  encoder_ = std::make_shared<const WordEncoder>(*code);
  const std::int64_t coded = words_ * code->n();
  filler_.resize(static_cast<std::size_t>(bits - coded));
  take_bits(PnSequence(15), coded, filler_);
}

void OfdmFrameBits::payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept {
  take_bits(sequence_, frame % sequence_.period() * this->information(), information);
}

/// The parts of the scratch memory.
struct OfdmFrameBits::Pieces {
  const OfdmFrameBits& frame;
  Scratch scratch;
  std::span<std::uint8_t> coded = scratch.take_span<std::uint8_t>(frame.words_ * frame.encoder_->code().n());
  std::span<std::uint8_t> for_word =
      scratch.take_span<std::uint8_t>(static_cast<std::int64_t>(frame.encoder_->scratch_bytes()));
  std::span<std::uint8_t> held = scratch.take_span<std::uint8_t>(frame.information());
};

void OfdmFrameBits::encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> bits,
                           std::byte* scratch) const noexcept {
  if (encoder_ == nullptr) {
    std::transform(information.begin(), information.end(), bits.begin(),
                   [](std::uint8_t bit) { return static_cast<std::uint8_t>(bit & 1); });
    return;
  }
  const WordCode& code = encoder_->code();
  const auto n = static_cast<std::size_t>(code.n()), k = static_cast<std::size_t>(code.information());
  const auto words = static_cast<std::size_t>(words_);
  const Pieces pieces{*this, Scratch(scratch)};
  for (std::size_t w = 0; w < words; ++w)
    encoder_->encode(information.subspan(w * k, k), pieces.coded.subspan(w * n, n), pieces.for_word);
  std::uint8_t* to = bits.data();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t w = 0; w < words; ++w) *to++ = pieces.coded[w * n + i];
  std::copy(filler_.begin(), filler_.end(), to);
}

void OfdmFrameBits::make(std::int64_t frame, std::span<std::uint8_t> bits, std::byte* scratch) const noexcept {
  if (encoder_ == nullptr) return payload(frame, bits);
  const Pieces pieces{*this, Scratch(scratch)};
  payload(frame, pieces.held);
  encode(pieces.held, bits, scratch);
}

std::size_t OfdmFrameBits::scratch_bytes() const noexcept {
  return encoder_ == nullptr ? Scratch(nullptr).bytes() : Pieces{*this, Scratch(nullptr)}.scratch.bytes();
}

}  // namespace iqd
