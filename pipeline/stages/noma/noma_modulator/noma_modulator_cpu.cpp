// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/noma/noma_modulator/noma_modulator.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::noma_modulator {

/// Parts of the scratch memory.
struct Frames::Pieces {
  const Frames& frames;
  Scratch scratch;
  std::span<std::uint8_t> payload = scratch.take_span<std::uint8_t>(frames.bits_.information());  // all users
  std::span<std::uint8_t> bits = scratch.take_span<std::uint8_t>(frames.bits_.bits());            // of those sent
  cf32* samples = scratch.take<cf32>(frames.maker_.format().air.frame);  // of a frame that is only partly needed
  std::byte* for_bits = scratch.take_bytes(frames.bits_.scratch_bytes());
  std::byte* for_maker = scratch.take_bytes(frames.maker_.scratch_bytes());
};

Frames::Frames(const Config& config, const std::vector<SymbolMap>& maps)
    : maker_(config.format, maps),
      bits_(config.format, maps, config.code.words(), order_of(config.payload)),
      amplitudes_(config.amplitude),
      first_user_(std::max<std::int64_t>(config.user, 0)),
      end_user_(config.user == kAllUsers ? config.format.users : config.user + 1) {
  amplitudes_.resize(static_cast<std::size_t>(config.format.users), amplitudes_.front());
}

std::size_t Frames::scratch_bytes() const noexcept {
  return Pieces{*this, Scratch(nullptr)}.scratch.bytes();
}

/// `bits_of`: returns a frame's information bits, for all users sent.
template <class BitsOf>
void Frames::fill(View<cf32, 2> y, std::int64_t y_first, const Pieces& pieces, BitsOf bits_of) const noexcept {
  const std::int64_t frame = maker_.format().air.frame, length = y.extent(1);
  for (std::int64_t i = 0; i < length;) {
    const std::int64_t begin = (y_first + i) % frame;
    const std::int64_t count = std::min(frame - begin, length - i);
    const bool whole = count == frame;
    bits_.encode(first_user_, end_user_, bits_of((y_first + i) / frame), pieces.bits, pieces.for_bits);
    const std::span<const std::uint8_t> bits = pieces.bits;
    for (std::int64_t row = 0; row < rows(); ++row) {
      const std::int64_t user = first_user_ + row;
      cf32* const out = whole ? &y(row, i) : pieces.samples;
      maker_.make(user, amplitudes_[static_cast<std::size_t>(user)],
                  bits.subspan(static_cast<std::size_t>(bits_.first_bit(user) - bits_.first_bit(first_user_))), out,
                  pieces.for_maker);
      if (!whole) std::copy_n(out + begin, count, &y(row, i));
    }
    i += count;
  }
}

void Frames::make(View<cf32, 2> y, std::int64_t y_first, std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  const std::int64_t own = bits_.first_information(first_user_);
  fill(y, y_first, pieces, [&](std::int64_t frame) {
    bits_.payload(frame, pieces.payload);
    return std::span<const std::uint8_t>(pieces.payload).subspan(static_cast<std::size_t>(own));
  });
}

void Frames::modulate(std::span<const std::uint8_t> bits, std::int64_t first, View<cf32, 2> y, std::int64_t y_first,
                      std::byte* scratch) const noexcept {
  fill(y, y_first, Pieces{*this, Scratch(scratch)},
       [&](std::int64_t frame) { return bits.subspan(static_cast<std::size_t>(frame * this->bits() - first)); });
}

}  // namespace iqd::noma_modulator
