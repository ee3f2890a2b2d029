// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/mimo_frames.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/random.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd::sim {
namespace {

using Rows = std::vector<std::vector<std::complex<float>>>;

/// [tx][sample]: `before` samples that repeat the end of the frames, the frames, and a margin for the filter.
Rows transmitted(const MimoOptions& options, std::int64_t before) {
  const OfdmFormat& format = options.format;
  const std::int64_t samples = options.frames * format.frame;
  struct Kind {
    OfdmFrameMaker maker;
    OfdmFrameBits payload;
  };
  std::vector<Kind> kinds;  // of even and odd frames
  for (const AntennaBits& modulation : {options.modulation, options.modulation_odd})
    kinds.push_back(
        {OfdmFrameMaker(format, modulation, 1 / std::sqrt(static_cast<double>(format.tx)), options.announce),
         OfdmFrameBits(format.bits(modulation), options.code, options.order)});
  Rows sent(static_cast<std::size_t>(format.tx));
  for (auto& row : sent) row.resize(static_cast<std::size_t>(before + samples + kFilterMargin));
  for (std::int64_t frame = 0; frame < options.frames; ++frame) {
    std::vector<std::complex<float>*> antennas;
    for (auto& row : sent) antennas.push_back(row.data() + before + frame * format.frame);
    const Kind& kind = kinds[static_cast<std::size_t>(frame % 2)];
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(kind.payload.bits()));
    std::vector<std::byte> scratch(std::max(kind.maker.scratch_bytes(), kind.payload.scratch_bytes()));
    kind.payload.make(frame, bits, scratch.data());
    kind.maker.make(bits, antennas, scratch.data());
  }
  for (auto& row : sent) std::copy_n(row.data() + samples, before, row.data());
  return sent;
}

/// Gaussian noise of the carriers in use, of power 1, in `before` samples that repeat the end, `samples` that the period
/// has, and a margin for the filter.
std::vector<std::complex<float>> interference(const MimoOptions& options, std::int64_t before, std::int64_t samples) {
  const OfdmFormat& format = options.format;
  const FftPlan plan(format.fft, FftPlan::Direction::inverse);
  std::vector<std::complex<float>> bins(static_cast<std::size_t>(format.fft)), symbol(bins.size());
  std::vector<std::complex<float>> x(static_cast<std::size_t>(before + samples + kFilterMargin));
  const double amplitude = std::sqrt(1.0 / static_cast<double>(format.carriers));
  std::uint64_t key = mix(options.interferer_channel.seed);
  for (std::int64_t n = 0; n < samples; n += format.fft) {
    for (std::int64_t c = 0; c < format.carriers; ++c) {
      const double size = amplitude * std::sqrt(-std::log(uniform(mix(++key))));
      const double angle = 2 * std::numbers::pi * uniform(mix(++key));
      bins[static_cast<std::size_t>(format.bin_of(c))] =
          std::polar(static_cast<float>(size), static_cast<float>(angle));
    }
    plan.run(bins.data(), symbol.data());
    std::copy_n(symbol.data(), std::min(format.fft, samples - n), x.data() + before + n);
  }
  std::copy_n(x.data() + samples, before, x.data());
  return x;
}

void add_interferer(const MimoOptions& options, Rows& received) {
  const FadingChannel channel(options.interferer_channel);
  const std::int64_t before = channel.reach() + kFilterMargin, samples = options.frames * options.format.frame;
  const auto sent = interference(options, before, samples);
  const std::complex<float>* const from = sent.data() + before;
  std::vector<std::complex<float>> heard(static_cast<std::size_t>(samples));
  for (std::size_t r = 0; r < received.size(); ++r) {
    channel.receive(static_cast<std::int64_t>(r), 0, {&from, 1}, heard);
    for (std::size_t n = 0; n < heard.size(); ++n) received[r][n] += static_cast<float>(options.interferer) * heard[n];
  }
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
  if (options.interferer > 0) add_interferer(options, received);
  return received;
}

}  // namespace iqd::sim
