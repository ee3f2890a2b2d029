// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/node/chain.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"
#include "radio/soapy-modules/warp/node/piece.hpp"

namespace iqd::warp {

/// The samples of a capture: fetched piece by piece for all chains, then taken in any portions. One thread.
class CapturePieces {
 public:
  /// `length`: samples of a capture.
  CapturePieces(std::size_t chains, std::uint32_t length) : length_(length), pieces_(chains) {}

  /// Back to the first sample.
  void rewind() noexcept { end_ = 0; }
  /// Nothing is available any more.
  void drop() noexcept { from_ = to_ = 0; }
  /// Begins to fetch the next piece, of these chains' buffers.
  void begin(const std::vector<Chain>& chains) {
    const std::uint32_t count = std::min(kPiece, length_ - end_);
    for (std::size_t i = 0; i < chains.size(); ++i) pieces_[i].begin(buffer_select(chains[i].number), end_, count);
  }
  /// The piece being fetched, of one chain.
  Piece& operator[](std::size_t chain) { return pieces_[chain]; }
  /// The piece of every chain is whole: its samples are available.
  void finish() noexcept {
    from_ = 0;
    to_ = pieces_[0].coverage.end() - end_;
    end_ += to_;
  }
  /// Whether no piece of the capture is whole yet.
  bool at_start() const noexcept { return end_ == 0; }
  /// Whether the last piece of the capture is whole.
  bool at_end() const noexcept { return end_ == length_; }

  std::uint32_t available() const noexcept { return to_ - from_; }
  const std::int16_t* iq(std::size_t chain) const noexcept { return &pieces_[chain].iq[2 * from_]; }
  /// The number of the first available sample within the capture.
  std::uint32_t first() const noexcept { return end_ - to_ + from_; }
  void take(std::uint32_t samples) noexcept { from_ += samples; }

 private:
  /// About 45 packets of 1500 bytes: a socket's default buffer holds them while nothing reads.
  static constexpr std::uint32_t kPiece = 16384;

  std::uint32_t length_;
  std::vector<Piece> pieces_;        // one per chain
  std::uint32_t end_ = 0;            // of the last whole piece
  std::uint32_t from_ = 0, to_ = 0;  // available samples of that piece
};

}  // namespace iqd::warp
