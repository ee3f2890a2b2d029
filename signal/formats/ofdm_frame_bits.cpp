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

OfdmFrameBits::OfdmFrameBits(std::int64_t bits, const LdpcCode* code, int payload)
    : bits_(bits), code_(code), words_(code == nullptr ? 0 : bits / code->n()), sequence_(payload) {
  if (code == nullptr) return;
  const std::int64_t coded = words_ * code->n();
  filler_.resize(static_cast<std::size_t>(bits - coded));
  take_bits(PnSequence(15), coded, filler_);
}

void OfdmFrameBits::payload(std::int64_t frame, std::span<std::uint8_t> information) const noexcept {
  take_bits(sequence_, frame % sequence_.period() * this->information(), information);
}

void OfdmFrameBits::encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> bits,
                           std::byte* scratch) const noexcept {
  if (code_ == nullptr) {
    std::transform(information.begin(), information.end(), bits.begin(),
                   [](std::uint8_t bit) { return static_cast<std::uint8_t>(bit & 1); });
    return;
  }
  const auto n = static_cast<std::size_t>(code_->n()), k = static_cast<std::size_t>(code_->k());
  const auto words = static_cast<std::size_t>(words_);
  const auto coded = Scratch(scratch).take_span<std::uint8_t>(words_ * code_->n());
  for (std::size_t w = 0; w < words; ++w) ldpc_encode(*code_, information.subspan(w * k, k), coded.subspan(w * n, n));
  std::uint8_t* to = bits.data();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t w = 0; w < words; ++w) *to++ = coded[w * n + i];
  std::copy(filler_.begin(), filler_.end(), to);
}

void OfdmFrameBits::make(std::int64_t frame, std::span<std::uint8_t> bits, std::byte* scratch) const noexcept {
  if (code_ == nullptr) return payload(frame, bits);
  Scratch pieces(scratch);
  pieces.take<std::uint8_t>(words_ * code_->n());
  const auto held = pieces.take_span<std::uint8_t>(information());
  payload(frame, held);
  encode(held, bits, scratch);
}

std::size_t OfdmFrameBits::scratch_bytes() const noexcept {
  Scratch pieces(nullptr);
  if (code_ != nullptr) {
    pieces.take<std::uint8_t>(words_ * code_->n());
    pieces.take<std::uint8_t>(information());
  }
  return pieces.bytes();
}

}  // namespace iqd
