// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"
#include "signal/formats/soft_qam.hpp"

namespace iqd::noma_channel_estimator {
namespace {

constexpr std::int64_t kWhole = 16;  // floats of a whole vector

cf32 delayed(std::int64_t frequency, double delay, std::int64_t fft) {
  const double turns = static_cast<double>(frequency) * delay / static_cast<double>(fft);
  return cf32(std::polar(1.0, -2 * std::numbers::pi * (turns - std::rint(turns))));
}

void set_delays(Design& d, const OfdmFormat& air) {
  const Extents& e = d.extents;
  for (std::int64_t c = 0; c < air.carriers; ++c) {
    for (std::int64_t l = 0; l < e.delay_pitch; ++l) {
      const cf32 turn = l < e.delays ? delayed(air.frequency_of(c), static_cast<double>(l - 2) * d.step, air.fft) : 0;
      d.turn_re.push_back(turn.real());
      d.turn_im.push_back(turn.imag());
    }
    for (std::int64_t lag = 1 - e.delays; lag < e.delays; ++lag)
      d.step_turn.push_back(delayed(air.frequency_of(c), static_cast<double>(lag) * d.step, air.fft));
  }
}

void set_pilots(Design& d, const NomaFormat& format) {
  const Extents& e = d.extents;
  d.sent.resize(static_cast<std::size_t>(format.pilot_slots() * format.users));
  for (std::int64_t u = 0; u < format.users; ++u) {
    const std::vector<cf32> own = format.pilot_points(u);
    for (std::int64_t t = 0; t < format.pilots; ++t)
      d.sent[static_cast<std::size_t>(t * format.users + u)] = own[static_cast<std::size_t>(t)];
  }
  for (std::int64_t s = 0; s < e.training; ++s)
    d.known.push_back(
        static_cast<std::int32_t>(std::clamp<std::int64_t>(format.pilots - s * e.carriers, 0, e.carriers)));
}

}  // namespace

std::int64_t delays_of(const Config& config) noexcept {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(config.format.air.prefix) / config.step)) + 4;
}

Design make_design(const Config& config, const std::vector<SymbolMap>& maps, std::int64_t rx, double symbol_seconds) {
  const NomaFormat& f = config.format;
  const auto narrow = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  Design d;
  d.symbol_seconds = symbol_seconds;
  d.step = config.step;
  d.early = static_cast<double>(f.air.early());
  d.maps = maps;
  Extents& e = d.extents;
  e.rx = narrow(rx), e.users = narrow(f.users), e.symbols = narrow(f.air.symbols());
  e.carriers = narrow(f.air.carriers), e.training = narrow(f.training), e.data = narrow(f.data);
  for (const SymbolMap map : maps) e.bits = std::max(e.bits, bits_of(map));
  e.delays = narrow(delays_of(config));
  e.delay_pitch = narrow((e.delays + kWhole - 1) / kWhole * kWhole);
  e.rounds = narrow(config.rounds), e.em = narrow(config.em);
  for (std::int64_t c = 0; c < e.carriers; ++c)
    if (f.air.frequency_of(c) % 2 != 0) d.odd.push_back(narrow(c));
  set_delays(d, f.air);
  set_pilots(d, f);
  return d;
}

void set_words(Design& d, const NomaFormat& format, std::int64_t n) {
  Extents& e = d.extents;
  e.n = static_cast<std::int32_t>(n);
  e.words = 0;
  d.soft.clear();
  d.filler.clear();
  for (const SymbolMap map : d.maps) {
    const std::int64_t bits = format.user_bits(map), words = bits / n;
    d.soft.push_back({e.words, static_cast<std::int32_t>(words), static_cast<std::int32_t>(d.filler.size())});
    e.words += static_cast<std::int32_t>(words);
    std::vector<std::uint8_t> own(static_cast<std::size_t>(bits - words * n));
    take_bits(PnSequence(15), words * n, own);
    for (const std::uint8_t bit : own) d.filler.push_back(bit != 0 ? -qam::kMostLlr : qam::kMostLlr);
  }
  d.unused.resize(static_cast<std::size_t>((format.data_slots() - format.data) * format.users));
  for (std::int64_t u = 0; u < format.users; ++u) {
    const std::vector<cf32> points = format.filler_points(u);
    for (std::size_t i = 0; i < points.size(); ++i)
      d.unused[i * static_cast<std::size_t>(format.users) + static_cast<std::size_t>(u)] = points[i];
  }
}

}  // namespace iqd::noma_channel_estimator
