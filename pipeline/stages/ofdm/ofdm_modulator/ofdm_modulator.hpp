// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/code_keys.hpp"
#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

/// Generates the frames of docs/ofdm-frame.md back to back, frame i at sample i `frame`, from one of two inputs:
///
/// bits     u8   [n]  each counts by its lowest bit: a frame for every B bits, with a code for every W k
/// samples  cf32 [n]  only their positions count: frames with a pseudo-random payload
///
/// out      cf32 [channel tx][n]; one antenna: [n]
///
/// An output depends, to the bit, only on its position and on its frame's bits. Keeps nothing between calls: a block
/// that begins or ends within a frame computes the whole frame.
namespace iqd::ofdm_modulator {

struct Config {
  OfdmFormat format;
  std::vector<std::string> modulation = {"qpsk"};  // of all antennas, or of each
  WordChoice code{};
  PnName payload = PnName::pn23;
  double amplitude = 1;
  bool announce = false;

  void fields(FieldVisitor& visitor);
};

class Frames {
 public:
  /// The format has no faults, and if there is a code, a frame holds at least one word. `modulation`: the config's.
  Frames(const Config& config, const AntennaBits& modulation);

  const OfdmFrameMaker& maker() const noexcept { return maker_; }
  const OfdmFrameBits& bits() const noexcept { return bits_; }
  std::size_t scratch_bytes() const noexcept;

  /// Samples y_first … of frames with the known payload; y is [tx][n].
  void make(View<cf32, 2> y, std::int64_t y_first, std::byte* scratch) const noexcept;
  /// The same for information bits. `first` is the number of the first; all bits of the frames in question are present.
  void modulate(std::span<const std::uint8_t> bits, std::int64_t first, View<cf32, 2> y, std::int64_t y_first,
                std::byte* scratch) const noexcept;

 private:
  struct Pieces;
  template <class BitsOf>
  void fill(View<cf32, 2> y, std::int64_t y_first, const Pieces& pieces, BitsOf bits_of) const noexcept;

  OfdmFrameMaker maker_;
  OfdmFrameBits bits_;
};

/// How a word follows from its information bits: the code is linear, so each bit of it is one of them, or the sum of
/// those of a mask.
struct WordSums {
  std::vector<std::int32_t> bits;    // [n]: an information bit, or the number of them plus that of a sum
  std::vector<std::uint32_t> masks;  // [(information bits + 31) / 32][sum], 32 bits a word, LSB first
  std::int32_t sums = 0;
};

/// The CUDA half. `words`: empty without a code. `of_bits`: the input is bits.
using CudaHalf = std::unique_ptr<StageRun>(const Frames& frames, const WordSums& words, bool of_bits);

}  // namespace iqd::ofdm_modulator
