// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::noma_slots {
namespace {

const Complex* complex_of(const std::vector<cf32>& v) noexcept {
  return reinterpret_cast<const Complex*>(v.data());
}

/// Sum of make(part) over all parts.
template <class T, class F> T sum_parts(const Layout& l, F make) noexcept {
  T sum;
  for (int part = 0; part < l.parts(); ++part) add(sum, make(part));
  return sum;
}

/// Scratch memory of a frame.
struct Room {
  const Layout& layout;
  Scratch scratch;
  Pairs* antennas = scratch.take<Pairs>(layout.rx);
  Complex* ramp = scratch.take<Complex>(layout.carriers);
  Complex* channels = scratch.take<Complex>(layout.channels_size());
};

/// Estimates from the training symbol: the delay, and the factor that removes the phase.
struct Heard {
  float delay = 0;
  Complex turn;
};
Heard hear(const Layout& l, const Known& known, const Complex* symbol, const Room& room) noexcept {
  const Complex* const signs = complex_of(known.signs);
  Heard heard;
  Complex halves, all;
  for (std::int64_t r = 0; r < l.rx; ++r) {
    room.antennas[r] = sum_parts<Pairs>(l, [&](int part) { return l.halves_of(symbol, signs, r, part); });
    add(halves, room.antennas[r].weighted());
  }
  if (l.timing) heard.delay = l.delay_of(halves);
  for (std::int64_t c = 0; c < l.carriers; ++c) room.ramp[c] = l.ramp_of(c, heard.delay);
  const auto ramp = [&](std::int64_t c) { return room.ramp[c]; };
  for (std::int64_t r = 0; r < l.rx; ++r)
    add(all, room.antennas[r].weighted(
                 sum_parts<Complex>(l, [&](int part) { return l.channel_of(symbol, signs, r, part, ramp); })));
  heard.turn = turn_back(all);
  return heard;
}

float find_drift(const Layout& l, const Known& known, const Complex* frame, const Room& room) noexcept {
  if (!l.drift) return 0;
  const auto ramp = [&](std::int64_t c) { return room.ramp[c]; };
  for (std::int64_t i = 0; i < l.training * l.users; ++i)
    for (std::int64_t r = 0; r < l.rx; ++r) {
      const Complex* const symbol = frame + (kBefore + i / l.users) * l.symbol_size();
      const Complex* const row = complex_of(known.channels) + i * l.carriers;
      room.channels[i * l.rx + r] =
          sum_parts<Complex>(l, [&](int part) { return l.channel_of(symbol, row, r, part, ramp); });
    }
  Complex all;
  for (std::int64_t r = 0; r < l.rx; ++r)
    add(all, sum_parts<Pairs>(l, [&](int part) { return l.neighbours_of(room.channels, r, part); }).weighted());
  return Layout::drift_of(all);
}

}  // namespace

Layout layout_of(const Config& config, std::int64_t antennas) noexcept {
  const NomaFormat& f = config.format;
  return {.fft = f.air.fft,
          .carriers = f.air.carriers,
          .symbols = f.air.symbols(),
          .rx = antennas,
          .users = f.users,
          .training = f.training,
          .pilots = f.pilots,
          .data = f.data,
          .early = f.air.early(),
          .timing = config.timing,
          .drift = config.drift};
}

std::size_t scratch_bytes(const Layout& layout) noexcept {
  return Room{layout, Scratch(nullptr)}.scratch.bytes();
}

void run_cpu(const Layout& l, const Known& known, const Complex* carriers, std::int64_t frames, const Output& out,
             std::byte* scratch) noexcept {
  const Room room{l, Scratch(scratch)};
  for (std::int64_t f = 0; f < frames; ++f, carriers += l.frame_size()) {
    const Heard heard = hear(l, known, carriers + l.symbol_size(), room);
    const float drift = find_drift(l, known, carriers, room);
    out.delay[f] = heard.delay;
    out.drift[f] = drift;
    for (std::int64_t s = 0; s < l.symbols - kBefore; ++s) {
      const Complex spin = product(Layout::spin_of(s + 1, drift), heard.turn);
      for (std::int64_t c = 0; c < l.carriers; ++c) {
        Complex* const to = out.row_of(l, f, s, c);
        if (to == nullptr) break;  // the later ones are not used either
        const Complex turn = product(room.ramp[c], spin);
        const Complex* const x = carriers + (s + kBefore) * l.symbol_size() + c * l.rx;
        for (std::int64_t r = 0; r < l.rx; ++r) to[r] = product(x[r], turn);
      }
    }
    if (out.train_tx == nullptr) continue;
    std::copy_n(complex_of(known.points), l.pilots * l.users, out.train_tx + f * l.pilots * l.users);
  }
}

}  // namespace iqd::noma_slots
