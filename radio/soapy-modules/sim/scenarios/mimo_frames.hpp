// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "signal/channels/fading_channel.hpp"
#include "signal/codes/ldpc_code.hpp"
#include "signal/formats/ofdm_format.hpp"

namespace iqd::sim {

/// What several antennas send and how it comes to the receiver's. The frames 0 … frames - 1 come again and again.
struct MimoOptions {
  OfdmFormat format;
  Modulation modulation = Modulation::qam16;
  const LdpcCode* code = nullptr;
  int order = 23;  // of the sequence that the payload is taken from
  std::int64_t frames = 16;
  FadingChannel::Options channel;
};

/// [rx][sample]: all frames as they are received; the first begins at sample 0, and into it the last one's echoes
/// reach. Where gains have the mean power 1, the samples have it as well.
std::vector<std::vector<std::complex<float>>> render_mimo_frames(const MimoOptions& options);

}  // namespace iqd::sim
