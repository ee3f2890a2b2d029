// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "signal/codes/word_choice.hpp"
#include "signal/formats/noma_format.hpp"
#include "signal/formats/noma_frame_bits.hpp"

/// Generates the frames of docs/noma-frame.md for all users or for one, back to back, frame i at sample i `frame`. The
/// input is one of:
///
/// bits     u8   [n]  each counts by its lowest bit: a frame per users · data · m bits, user 0's first, or per its
///                    words' information bits; for a single user per that user's
/// samples  cf32 [n]  only positions count: frames with a pseudo-random payload
///
/// out      cf32 [channel users][n]; one user: [n]
///
/// An output depends only on its position and its frame's bits, bit for bit. Keeps nothing between calls: a block that
/// begins or ends within a frame generates the whole frame.
namespace iqd::noma_modulator {

inline constexpr std::int64_t kAllUsers = -1;

struct Config {
  NomaFormat format;
  std::vector<std::string> modulation{"qpsk"};  // of all users, or per user
  WordChoice code{};
  PnName payload = PnName::pn23;
  std::vector<double> amplitude{1};  // of all users, or per user
  std::int64_t user = kAllUsers;

  void fields(FieldVisitor& visitor);
};

class Frames {
 public:
  /// `config`: the format has no faults, `user` is one of its users, and there is one amplitude or one per user.
  /// `maps`: of each user.
  Frames(const Config& config, const std::vector<SymbolMap>& maps);

  std::int64_t rows() const noexcept { return end_user_ - first_user_; }
  /// Input bits per frame.
  std::int64_t bits() const noexcept {
    return bits_.first_information(end_user_) - bits_.first_information(first_user_);
  }
  std::size_t scratch_bytes() const noexcept;

  /// Samples y_first … of frames with the known payload; y is [row][n].
  void make(View<cf32, 2> y, std::int64_t y_first, std::byte* scratch) const noexcept;
  /// The same for frames of bits. `bits` has those of all frames touched; `first` is the number of the first bit.
  void modulate(std::span<const std::uint8_t> bits, std::int64_t first, View<cf32, 2> y, std::int64_t y_first,
                std::byte* scratch) const noexcept;

 private:
  struct Pieces;
  template <class BitsOf>
  void fill(View<cf32, 2> y, std::int64_t y_first, const Pieces& pieces, BitsOf bits_of) const noexcept;

  NomaFrameMaker maker_;
  NomaFrameBits bits_;
  std::vector<double> amplitudes_;
  std::int64_t first_user_;
  std::int64_t end_user_;
};

}  // namespace iqd::noma_modulator
