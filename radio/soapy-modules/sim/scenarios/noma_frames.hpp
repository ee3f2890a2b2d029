// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "signal/channels/array_channel.hpp"
#include "signal/formats/noma_format.hpp"

namespace iqd::sim {

/// What several users send, and how the antennas of an array receive it. The frames 0 … frames - 1 repeat.
struct NomaOptions {
  NomaFormat format;
  SymbolMap modulation = SymbolMap::qpsk;
  int order = 23;  // of the payload's pseudo-random sequence
  std::int64_t frames = 16;
  double rate_hz = 1;
  ArrayChannel::Options channel;  // a frame has the gains at `seconds_of`
  double level_db = -20;          // mean power of all users at an antenna, of full scale
  std::optional<double> snr_db;   // of a 0 dB user, on a carrier
  double offset_hz = 0;           // of the carrier, rounded to fit the period
};

/// [antenna][sample][2]: all frames as received, as 16-bit numbers; the first begins at sample 0.
std::vector<std::vector<std::int16_t>> render_noma_frames(const NomaOptions& options);

/// The time whose gains a frame has: users move forth in the first half of the period and back in the second, so the
/// gains do not jump when it repeats.
double seconds_of(const NomaOptions& options, std::int64_t frame);

}  // namespace iqd::sim
