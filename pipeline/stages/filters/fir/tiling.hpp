// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/views.hpp"

namespace iqd::fir {

/// How the GPU cuts a filter into pieces that fit in shared memory. With k = q D + p, phase p of the taps is a filter
/// of its own over every D-th sample; a piece has `depth` taps q of each phase, and its products are summed phase by
/// phase. The order of a sum does not depend on which thread computes it.
///
/// taps in memory         [piece][phase][q], q = 0 … depth-1
/// inputs of a tile       [phase][c], c = 0 … depth + outputs - 1: output i multiplies tap q by sample
///                        c = depth + i - q. One place is left free after every `each` samples, so that threads with
///                        `each` outputs read from different banks. `stride` from phase to phase.
struct Tiling {
  static constexpr int kPieceTaps = 512;  // all phases together; also keeps sums short
  static constexpr int kStep = 8;         // depth is a multiple: `each` divides it, and vectors of taps are aligned

  std::int64_t full = 0;  // taps of every phase
  int rest = 0;           // phases with one more
  int decimation = 1;
  int depth = kStep;
  int pieces = 1;
  std::uint32_t reciprocal = 0;  // 2^32 / decimation, rounded up

  Tiling() = default;
  constexpr Tiling(std::int64_t taps, int decimation)
      : full(taps / decimation), rest(static_cast<int>(taps % decimation)), decimation(decimation) {
    const std::int64_t longest = full + (rest > 0 ? 1 : 0);
    const std::int64_t most = std::max(kPieceTaps / decimation / kStep, 1) * kStep;
    depth = static_cast<int>(std::min((longest + kStep - 1) / kStep * kStep, most));
    pieces = static_cast<int>((longest + depth - 1) / depth);
    reciprocal = static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + static_cast<std::uint64_t>(decimation) - 1) /
                                            static_cast<std::uint64_t>(decimation));
  }

  IQD_HOST_DEVICE constexpr int piece_size() const { return depth * decimation; }
  /// The index of a tap in memory.
  constexpr std::size_t place_of_tap(std::int64_t k) const {
    const std::int64_t q = k / decimation;
    return static_cast<std::size_t>((q / depth * decimation + k % decimation) * depth + q % depth);
  }
  /// Taps of a phase in a piece.
  IQD_HOST_DEVICE constexpr int taps_in(int piece, int phase) const {
    const std::int64_t left = full + (phase < rest ? 1 : 0) - static_cast<std::int64_t>(piece) * depth;
    return left < 0 ? 0 : left < depth ? static_cast<int>(left) : depth;
  }
  IQD_HOST_DEVICE constexpr int phases() const { return full > 0 ? decimation : rest; }

  /// Position of the first sample staged for a piece, relative to the one that a tile's first output multiplies by tap
  /// 0. The staged samples follow in order: the last phase's c = 0, the previous phase's, …, the last phase's c = 1.
  IQD_HOST_DEVICE constexpr std::int64_t staged_from(int piece) const {
    return -(static_cast<std::int64_t>(piece) + 1) * piece_size() - (decimation - 1);
  }
  IQD_HOST_DEVICE constexpr int staged(int outputs) const { return (depth + outputs) * decimation; }
  /// The index of staged sample i < 65536 in shared memory.
  template <int each> IQD_HOST_DEVICE constexpr int place_of_input(int i, int stride) const {
    const int c = decimation == 1 ? i : static_cast<int>(static_cast<std::uint64_t>(i) * reciprocal >> 32);
    return (decimation - 1 - (i - c * decimation)) * stride + padded<each>(c);
  }
  template <int each> static IQD_HOST_DEVICE constexpr int padded(int c) { return c + c / each; }
  /// For tiles of `outputs` outputs, a multiple of `each`. Adjacent samples also go to different banks.
  constexpr int stride(int outputs, int each, int sample_bytes) const {
    const int banks = 128 / sample_bytes;
    const int samples = (depth + outputs) / each * (each + 1);
    return (samples + banks - 1) / banks * banks + std::max(banks / decimation, 1);
  }
};

}  // namespace iqd::fir
