// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "signal/channels/array_channel.hpp"
#include "signal/formats/noma_format.hpp"

namespace iqd::sim {

/// What several users send and how the antennas of an array hear it. The frames 0 … frames - 1 come again and again.
struct NomaOptions {
  NomaFormat format;
  SymbolMap modulation = SymbolMap::qpsk;
  int order = 23;  // of the sequence that the payload is taken from
  std::int64_t frames = 16;
  double rate_hz = 1;
  ArrayChannel::Options channel;  // a frame has the gains of `seconds_of`
  double level_db = -20;          // of what an antenna hears of all users in the mean, of full scale
  std::optional<double> snr_db;   // of a user of 0 dB, on a carrier
  double offset_hz = 0;           // of the carrier; the nearest that fits the period is taken
};

/// [antenna][sample][2]: all frames as they are received, as 16-bit numbers; the first begins at sample 0.
std::vector<std::vector<std::int16_t>> render_noma_frames(const NomaOptions& options);

/// When a frame's gains are those of this second: users go forth in the first half of the period, and back in the
/// second, so that nothing jumps where it begins again.
double seconds_of(const NomaOptions& options, std::int64_t frame);

}  // namespace iqd::sim
