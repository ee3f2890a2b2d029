// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::ofdm_modulator {
/// The parts of the scratch memory.
struct Frames::Pieces {
  const Frames& frames;
  Scratch scratch;
  std::span<std::uint8_t> bits = scratch.take_span<std::uint8_t>(frames.bits_.bits());  // of a frame
  cf32* samples = scratch.take<cf32>(frames.maker_.format().tx *
                                     frames.maker_.format().frame);  // [tx][frame]: of a frame that is needed in part
  std::byte* for_bits = scratch.take_bytes(frames.bits_.scratch_bytes());
  std::byte* for_maker = scratch.take_bytes(frames.maker_.scratch_bytes());
};

Frames::Frames(const Config& config, const AntennaBits& modulation)
    : maker_(config.format, modulation, config.amplitude, config.announce),
      bits_(config.format.bits(modulation), config.code.words(), order_of(config.payload)) {}

std::size_t Frames::scratch_bytes() const noexcept {
  return Pieces{*this, Scratch(nullptr)}.scratch.bytes();
}

template <class BitsOf>
void Frames::fill(View<cf32, 2> y, std::int64_t y_first, const Pieces& pieces, BitsOf bits_of) const noexcept {
  const OfdmFormat& format = maker_.format();
  const std::int64_t length = y.extent(1);
  for (std::int64_t i = 0; i < length;) {
    const std::int64_t begin = (y_first + i) % format.frame;
    const std::int64_t count = std::min(format.frame - begin, length - i);
    const bool whole = count == format.frame;
    std::array<cf32*, OfdmFormat::kMostTx> antennas{};
    for (std::int64_t a = 0; a < format.tx; ++a)
      antennas[static_cast<std::size_t>(a)] = whole ? &y(a, i) : pieces.samples + a * format.frame;
    bits_of((y_first + i) / format.frame);
    maker_.make(pieces.bits, antennas, pieces.for_maker);
    if (!whole)
      for (std::int64_t a = 0; a < format.tx; ++a)
        std::copy_n(antennas[static_cast<std::size_t>(a)] + begin, count, &y(a, i));
    i += count;
  }
}

void Frames::make(View<cf32, 2> y, std::int64_t y_first, std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  fill(y, y_first, pieces, [&](std::int64_t frame) { bits_.make(frame, pieces.bits, pieces.for_bits); });
}

void Frames::modulate(std::span<const std::uint8_t> bits, std::int64_t first, View<cf32, 2> y, std::int64_t y_first,
                      std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  fill(y, y_first, pieces, [&](std::int64_t frame) {
    const std::int64_t at = frame * bits_.information() - first;
    bits_.encode(bits.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bits_.information())), pieces.bits,
                 pieces.for_bits);
  });
}

}  // namespace iqd::ofdm_modulator
