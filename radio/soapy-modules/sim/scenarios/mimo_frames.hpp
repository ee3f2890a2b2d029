// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "signal/channels/fading_channel.hpp"
#include "signal/codes/word_code.hpp"
#include "signal/formats/ofdm_format.hpp"

namespace iqd::sim {

/// What several antennas send, and the channel to the receiver's antennas. The frames 0 … frames - 1 repeat.
struct MimoOptions {
  OfdmFormat format;
  AntennaBits modulation{Modulation::qam16, 2};
  AntennaBits modulation_odd{Modulation::qam16, 2};  // of frames 1, 3, …
  bool announce = false;                             // the modulations
  std::optional<WordCode> code{};
  int order = 23;  // of the payload's pseudo-random sequence
  std::int64_t frames = 16;
  FadingChannel::Options channel;
  double interferer = 0;  // amplitude at each receive antenna; 0: there is none
  FadingChannel::Options interferer_channel;
};

/// [rx][sample]: all frames as received. The first begins at sample 0 and contains the last one's echoes. If the gains
/// have a mean power of 1, so have the samples.
std::vector<std::vector<std::complex<float>>> render_mimo_frames(const MimoOptions& options);

}  // namespace iqd::sim
