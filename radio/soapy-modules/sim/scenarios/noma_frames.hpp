// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "signal/channels/array_channel.hpp"
#include "signal/codes/word_code.hpp"
#include "signal/formats/noma_format.hpp"

namespace iqd::sim {

/// What several users send, and how the antennas of an array receive it. The frames 0 … frames - 1 repeat.
struct NomaOptions {
  NomaFormat format;
  std::vector<SymbolMap> modulation;  // [user]
  std::optional<WordCode> code;
  int order = 23;  // of the payload's pseudo-random sequence
  std::int64_t frames = 16;
  double rate_hz = 1;
  ArrayChannel::Options channel;  // a frame has the gains at `seconds_of`
  double level_db = -20;          // mean power of all users at an antenna, of full scale
  std::optional<double> snr_db;   // of a 0 dB user, on a carrier
  double offset_hz = 0;           // of the carrier, rounded to fit the period
  // By user; empty: none differs.
  std::vector<double> offsets_hz;  // rounded in the same way
  std::vector<double> delays;      // samples
  std::vector<double> echoes_db;   // of an echo over the first path; it has gains of its own
  double echo_delay = 6;           // samples after the first path
};

/// [antenna][sample][2]: all frames as received, as 16-bit numbers; the first begins at sample 0.
std::vector<std::vector<std::int16_t>> render_noma_frames(const NomaOptions& options);

/// The time whose gains a frame has: users move forth in the first half of the period and back in the second, so the
/// gains do not jump when it repeats. With a Doppler shift gains change within a frame, in the same way.
double seconds_of(const NomaOptions& options, std::int64_t frame);

}  // namespace iqd::sim
