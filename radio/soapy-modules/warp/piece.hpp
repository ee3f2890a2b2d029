// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/coverage.hpp"
#include "radio/soapy-modules/warp/packet.hpp"

namespace iqd::warp {

/// A stretch of samples of one buffer on its way to the host, put together from packets in whatever order they come,
/// and however often.
struct Piece {
  std::uint32_t buffer = 0;
  Coverage coverage;
  std::vector<std::int16_t> iq;  // of all the stretch, I and Q in turn

  void begin(std::uint32_t buffer_bit, std::uint32_t first, std::uint32_t count);

  enum class Taken : std::uint8_t {
    fresh,          // some samples that were missing
    again,          // none
    unfit,          // no samples of this stretch
    not_ready,      // the node has none yet
    failed,         // nor will it have any
    other_capture,  // samples, but of another capture
  };
  /// `capture` is the id that samples are to have; without one it becomes that of the first that come. What the node
  /// said goes to `said`.
  Taken take(const Packet& packet, std::optional<std::uint8_t>& capture, SampleHeader& said);
};

}  // namespace iqd::warp
