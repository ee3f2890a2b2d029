// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "base/element.hpp"
#include "signal/formats/noma_format.hpp"

/// Carriers of NOMA frames from users with delays and offsets of their own, in double precision.
namespace iqd::testing {

struct UsersThatDiffer {
  NomaFormat format;
  std::vector<SymbolMap> maps;  // [user]
  std::int64_t rx = 4;
  double rate_hz = 960e3;
  double noise = 0.05;               // amplitude; users have 1
  std::vector<double> delays = {};   // [user], samples behind the window's begin
  std::vector<double> offsets = {};  // [user], hertz

  std::int64_t frame_size() const noexcept { return format.air.symbols() * format.air.carriers * rx; }
};

struct FramesOfUsers {
  std::vector<cf32> carriers;               // [frame][symbol][carrier][rx]
  std::vector<std::vector<unsigned>> sent;  // [user][frame t]: numbers of points
};

/// Each user has another draw of gains in each frame.
inline FramesOfUsers frames_of_users(const UsersThatDiffer& users, std::int64_t frames, unsigned seed = 3) {
  const NomaFormat& f = users.format;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  const auto gaussian = [&] {
    const double re = normal(generator);
    return std::complex<double>(re, normal(generator));
  };
  const std::int64_t size = users.frame_size();
  FramesOfUsers made{.carriers = std::vector<cf32>(at(frames * size)),
                     .sent = std::vector<std::vector<unsigned>>(users.maps.size())};
  for (std::int64_t g = 0; g < frames; ++g) {
    std::vector<std::complex<double>> y(at(size));
    for (std::int64_t u = 0; u < f.users; ++u) {
      std::vector<std::complex<double>> gains(at(users.rx));
      std::ranges::generate(gains, gaussian);
      const auto pilots = f.pilot_points(u), fillers = f.filler_points(u);
      const SymbolMap map = users.maps[at(u)];
      for (std::int64_t s = 0; s < f.air.symbols(); ++s)
        for (std::int64_t c = 0; c < f.air.carriers; ++c) {
          const std::int64_t t = (s - 2) * f.air.carriers + c, d = t - f.pilot_slots();
          std::complex<double> x = s == 0 ? static_cast<double>(f.air.frequency_of(c) % 2 == 0) : 1.0;
          if (s >= 2 && d < 0) x = pilots[at(t)];
          if (d >= f.data) x = fillers[at(d - f.data)];
          if (d >= 0 && d < f.data) {
            made.sent[at(u)].push_back(static_cast<unsigned>(generator() % (1u << bits_of(map))));
            x = point_of(map, made.sent[at(u)].back());
          }
          const double turns =
              users.offsets[at(u)] * static_cast<double>(s * f.air.symbol()) / users.rate_hz -
              static_cast<double>(f.air.frequency_of(c)) * users.delays[at(u)] / static_cast<double>(f.air.fft);
          const auto turn = std::polar(1.0, 2 * std::numbers::pi * turns);
          for (std::int64_t r = 0; r < users.rx; ++r)
            y[at((s * f.air.carriers + c) * users.rx + r)] += gains[at(r)] * x * turn;
        }
    }
    for (std::int64_t i = 0; i < size; ++i) made.carriers[at(g * size + i)] = cf32(y[at(i)] + users.noise * gaussian());
  }
  return made;
}

}  // namespace iqd::testing
