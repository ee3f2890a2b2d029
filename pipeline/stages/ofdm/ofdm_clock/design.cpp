// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/ofdm/ofdm_clock/ofdm_clock.hpp"

namespace iqd::ofdm_clock {
namespace {

Pairs pairs_of(const Extents& e, std::int32_t apart) {
  double distance = 0;  // in frequency, of all pairs
  for (std::int32_t i = 0; i + apart < e.pilots; ++i)
    distance += e.frequency(e.pilot(i + apart)) - e.frequency(e.pilot(i));
  return {apart, 2 * std::numbers::pi * distance / (e.pilots - apart) * e.turns_per_symbol};
}

}  // namespace

Design make_design(const Config& config, std::int64_t rx) {
  const OfdmFormat& f = config.format;
  const OfdmReference reference(f);
  Design design;
  Extents& e = design.extents;
  e = {.rx = static_cast<std::int32_t>(rx),
       .tx = static_cast<std::int32_t>(f.tx),
       .symbols = static_cast<std::int32_t>(f.symbols()),
       .tail_symbols = static_cast<std::int32_t>(f.tail_symbols()),
       .carriers = static_cast<std::int32_t>(f.carriers),
       .pilots = static_cast<std::int32_t>(f.pilots()),
       .pilot_every = static_cast<std::int32_t>(f.pilot_every),
       .tail_later = f.tail_position(0) - static_cast<double>(f.symbols()),
       .limit = config.limit * 1e-6,
       .keeps = 1 - 1 / static_cast<double>(config.memory)};
  e.turns_per_symbol = static_cast<double>(f.symbol()) / static_cast<double>(f.fft);
  if (f.pilots() >= 2 && f.behind() >= kFewestSymbols) {
    e.near = pairs_of(e, std::max(1, e.pilots / 4));
    e.far = pairs_of(e, std::max(1, 2 * e.pilots / 3));
  }
  for (std::int32_t c = 0; c < e.carriers; ++c)
    if (e.frequency(c) % 2 != 0) design.odd.push_back(c);
  for (std::int64_t s = 0; s < f.behind(); ++s)
    for (std::int64_t i = 0; i < f.pilots(); ++i)
      for (std::int64_t t = 0; t < f.tx; ++t) design.weights.push_back(reference.pilot_weight(s, i, t));
  return design;
}

}  // namespace iqd::ofdm_clock
