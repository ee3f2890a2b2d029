// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/node/coverage.hpp"
#include "radio/soapy-modules/warp/node/packet.hpp"

namespace iqd::warp {

/// A stretch of samples of one buffer, assembled from packets in any order and with repetitions.
struct Piece {
  std::uint32_t buffer = 0;
  Coverage coverage;
  std::vector<std::int16_t> iq;  // the whole stretch, I and Q interleaved

  void begin(std::uint32_t buffer_bit, std::uint32_t first, std::uint32_t count);

  enum class Taken : std::uint8_t {
    fresh,          // some samples that were missing
    again,          // only samples that have arrived before
    unfit,          // no samples of this stretch
    not_ready,      // the node has no samples yet
    failed,         // the node will never have samples
    other_capture,  // samples of another capture
  };
  /// `capture` is the id that samples must have; if empty, it takes that of the first samples that arrive. `said`
  /// receives the node's sample header.
  Taken take(const Packet& packet, std::optional<std::uint8_t>& capture, SampleHeader& said);
};

}  // namespace iqd::warp
