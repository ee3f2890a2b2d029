// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "signal/formats/noma_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

/// Makes the frames of docs/noma-frame.md of all users, or of one, one behind the other, frame i at sample i `frame`;
/// of one of two things:
///
/// bits     u8   [n]  each counts by its lowest bit: a frame of every users · data · m, user 0's first; of one user
///                    alone of every data · m
/// samples  cf32 [n]  only their positions count: frames with a pseudo-random payload
///
/// out      cf32 [channel users][n]; one user: [n]
///
/// An output is a function of its position and of its frame's bits, to the bit. Keeps nothing between calls: a block
/// that begins or ends within a frame makes the whole of it.
namespace iqd::noma_modulator {

inline constexpr std::int64_t kAllUsers = -1;

struct Config {
  NomaFormat format;
  SymbolMap modulation = SymbolMap::qpsk;
  PnName payload = PnName::pn23;
  std::vector<double> amplitude{1};  // of all users, or of each
  std::int64_t user = kAllUsers;

  void fields(FieldVisitor& visitor);
};

class Frames {
 public:
  /// The format is free of faults, `user` one of its users, and there are as many amplitudes as `Config` says.
  explicit Frames(const Config& config);

  std::int64_t rows() const noexcept { return end_user_ - first_user_; }
  /// Of a frame, that come in.
  std::int64_t bits() const noexcept { return rows() * maker_.format().user_bits(maker_.map()); }
  std::size_t scratch_bytes() const noexcept;

  /// Samples y_first … of frames with the known payload; y is [row][n].
  void make(View<cf32, 2> y, std::int64_t y_first, std::byte* scratch) const noexcept;
  /// The same of bits, the first of which is number `first`; those of all frames that are touched.
  void modulate(std::span<const std::uint8_t> bits, std::int64_t first, View<cf32, 2> y, std::int64_t y_first,
                std::byte* scratch) const noexcept;

 private:
  struct Pieces;
  template <class BitsOf>
  void fill(View<cf32, 2> y, std::int64_t y_first, const Pieces& pieces, BitsOf bits_of) const noexcept;

  NomaFrameMaker maker_;
  OfdmFrameBits payload_;
  std::vector<double> amplitudes_;
  std::int64_t first_user_;
  std::int64_t end_user_;
};

}  // namespace iqd::noma_modulator
