// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"
#include "signal/formats/soqpsk.hpp"

/// For the tests: streams with packets, and the search in double precision.
namespace iqd::preamble_search {

using Starts = std::vector<std::int64_t>;

/// A packet with random data.
inline std::vector<std::complex<double>> packet(const PacketFormat& format, unsigned seed) {
  std::vector<std::uint8_t> bits = format.pilot();
  std::mt19937 engine(seed);
  while (std::ssize(bits) < format.bits()) bits.push_back(engine() >> 16 & 1);
  return soqpsk::modulate(bits, format.samples_per_bit);
}

/// Adds complex noise of this variance.
inline void add_noise(std::vector<cf32>& x, double variance) {
  std::mt19937 engine(3);
  std::normal_distribution<double> part(0, std::sqrt(variance / 2));
  for (cf32& v : x) v += cf32(static_cast<float>(part(engine)), static_cast<float>(part(engine)));
}

/// Packets at these starts in weak noise; a packet ends where the next one begins.
inline std::vector<cf32> stream_with(const PacketFormat& format, const Starts& starts, std::int64_t length) {
  std::vector<cf32> x(static_cast<std::size_t>(length));
  add_noise(x, 1e-3);
  unsigned seed = 1;
  for (const std::int64_t start : starts) {
    std::int64_t n = start;
    for (const std::complex<double> v : packet(format, seed++))
      if (n < length) x[static_cast<std::size_t>(n++)] = cf32(v);
  }
  return x;
}

/// A place where a packet may start, and U there.
struct Place {
  std::int64_t n;
  double share;
};

/// The candidates of a whole stream in double precision, sample by sample; also before the first sample.
inline std::vector<Place> candidates_of(const PacketFormat& f, const std::vector<cf32>& x, double threshold) {
  const auto q = soqpsk::preamble_waveform(f, soqpsk::Template::exact);
  const auto pilot = soqpsk::pilot_waveform(f);
  const std::int64_t span = f.period() * f.repeats;
  const auto at = [&](std::int64_t n) {
    return n < 0 ? std::complex<double>() : std::complex<double>(x[static_cast<std::size_t>(n)]);
  };
  struct Match {
    double power, energy;
  };
  /// What a block has in common with s.
  const auto match = [&](std::int64_t n, const std::complex<double>* s, std::int64_t length) {
    std::complex<double> c = 0;
    double size = 0, energy = 0;
    for (std::int64_t l = 0; l < length; ++l) {
      c += at(n + l) * std::conj(s[l]);
      size += std::norm(s[l]);
      energy += std::norm(at(n + l));
    }
    return Match{std::norm(c) / size, energy};
  };
  const auto share = [](const std::vector<Match>& blocks) {
    double power = 0, energy = 0;
    for (const Match& m : blocks) power += m.power, energy += m.energy;
    return energy > 0 ? power / energy : 0;
  };
  const std::int64_t first = f.period() - span;
  std::vector<Match> periods;
  for (std::int64_t n = first; n + f.period() <= std::ssize(x); ++n) periods.push_back(match(n, q.data(), f.period()));
  std::vector<Place> places;
  for (std::int64_t n = first; n + std::ssize(pilot) <= std::ssize(x); ++n) {
    std::vector<Match> preamble, word;
    for (std::int64_t l = 0; l < span; l += f.period())
      preamble.push_back(periods[static_cast<std::size_t>(n - first + l)]);
    const double t = share(preamble);
    if (t < threshold) continue;
    for (std::int64_t l = span; l < std::ssize(pilot); l += f.period())
      word.push_back(match(n + l, &pilot[static_cast<std::size_t>(l)], std::min(f.period(), std::ssize(pilot) - l)));
    const double s = share(word);
    if (s >= std::min(0.2, 0.8 * threshold)) places.push_back({n, t + s});
  }
  std::vector<Place> best;
  for (const Place& p : places)
    if (std::none_of(places.begin(), places.end(), [&](const Place& o) {
          return std::abs(o.n - p.n) <= span / 2 && (o.share > p.share || (o.share == p.share && o.n < p.n));
        }))
      best.push_back(p);
  return best;
}

/// The starts that follow from the candidates of a whole stream, of whole packets or not.
inline Starts reference(const PacketFormat& f, const std::vector<cf32>& x, double threshold) {
  const std::vector<Place> c = candidates_of(f, x, threshold);
  const std::int64_t quarter = f.period() * f.repeats / 4, late = std::min(2 * f.samples_per_bit, quarter);
  std::vector<double> sum(c.size());
  std::vector<std::size_t> next(c.size(), c.size());
  for (std::size_t i = c.size(); i-- > 0;) {
    double after = 0;
    for (std::size_t j = i + 1; j < c.size(); ++j) {
      const std::int64_t apart = c[j].n - c[i].n;
      const double value = sum[j] + (std::abs(apart - f.samples()) <= late ? 0.5 : 0);
      if (apart < f.samples() - quarter || value <= after) continue;
      after = value;
      next[i] = j;
    }
    sum[i] = c[i].share + after;
  }
  const double least = 0.98 * *std::max_element(sum.begin(), sum.end());
  Starts starts;
  for (auto i = static_cast<std::size_t>(std::find_if(sum.begin(), sum.end(), [&](double v) { return v >= least; }) -
                                         sum.begin());
       i < c.size(); i = next[i])
    starts.push_back(c[i].n);
  return starts;
}

}  // namespace iqd::preamble_search
