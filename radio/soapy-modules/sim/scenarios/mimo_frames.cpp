// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/mimo_frames.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "signal/filters/filter_kernel.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd::sim {
namespace {

using Rows = std::vector<std::vector<std::complex<float>>>;

/// [tx][sample]: `before` samples that repeat the end of the frames, the frames, and a margin for the filter.
Rows transmitted(const MimoOptions& options, std::int64_t before) {
  const OfdmFormat& format = options.format;
  const std::int64_t samples = options.frames * format.frame;
  const OfdmFrameMaker maker(format, options.modulation, 1 / std::sqrt(static_cast<double>(format.tx)));
  const OfdmFrameBits payload(format.bits(options.modulation), options.code, options.order);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(format.bits(options.modulation)));
  std::vector<std::byte> scratch(std::max(maker.scratch_bytes(), payload.scratch_bytes()));
  Rows sent(static_cast<std::size_t>(format.tx));
  for (auto& row : sent) row.resize(static_cast<std::size_t>(before + samples + kFilterMargin));
  for (std::int64_t frame = 0; frame < options.frames; ++frame) {
    std::vector<std::complex<float>*> antennas;
    for (auto& row : sent) antennas.push_back(row.data() + before + frame * format.frame);
    payload.make(frame, bits, scratch.data());
    maker.make(bits, antennas, scratch.data());
  }
  for (auto& row : sent) std::copy_n(row.data() + samples, before, row.data());
  return sent;
}

}  // namespace

Rows render_mimo_frames(const MimoOptions& options) {
  const FadingChannel channel(options.channel);
  const std::int64_t before = channel.reach() + kFilterMargin;
  const Rows sent = transmitted(options, before);
  std::vector<const std::complex<float>*> from;
  for (const auto& row : sent) from.push_back(row.data() + before);
  Rows received(static_cast<std::size_t>(options.channel.rx));
  for (std::size_t r = 0; r < received.size(); ++r) {
    received[r].resize(static_cast<std::size_t>(options.frames * options.format.frame));
    channel.receive(static_cast<std::int64_t>(r), 0, from, received[r]);
  }
  return received;
}

}  // namespace iqd::sim
