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

/// The definition in double precision, sample by sample: the starts that follow from the peaks, of whole packets or
/// not.
inline Starts reference(const PacketFormat& f, const std::vector<cf32>& x, double threshold) {
  const auto q = soqpsk::preamble_waveform(f, soqpsk::Template::exact);
  const auto pilot = soqpsk::pilot_waveform(f);
  const std::int64_t span = f.period() * f.repeats, n_end = std::ssize(x) - span + 1;
  const auto at = [&](std::int64_t n) { return std::complex<double>(x[static_cast<std::size_t>(n)]); };
  const auto match = [&](std::int64_t n, const std::complex<double>* s, std::int64_t length) {
    std::complex<double> c = 0;
    for (std::int64_t l = 0; l < length; ++l) c += at(n + l) * std::conj(s[l]);
    return std::norm(c);
  };
  std::vector<double> c, level, metric;
  for (std::int64_t n = 0; n + f.period() <= std::ssize(x); ++n) c.push_back(match(n, q.data(), f.period()));
  for (std::int64_t n = 0; n < n_end; ++n) {
    double sum = 0, energy = 0, q_energy = 0;
    for (std::int64_t m = 0; m < f.repeats; ++m) sum += c[static_cast<std::size_t>(n + m * f.period())];
    for (std::int64_t l = 0; l < span; ++l) energy += std::norm(at(n + l));
    for (const auto v : q) q_energy += std::norm(v);
    level.push_back(sum);
    metric.push_back(energy > 0 ? sum / (q_energy * energy) : 0);
  }
  Starts starts;
  for (std::int64_t n = 0; n < n_end; ++n) {
    const auto from = level.begin() + std::max<std::int64_t>(0, n - f.samples() / 2);
    const auto to = level.begin() + std::min(n_end, n + f.samples() / 2 + 1);
    if (metric[static_cast<std::size_t>(n)] < threshold || std::max_element(from, to) - level.begin() != n) continue;
    double best = -1;
    std::int64_t start = n;
    const std::int64_t reach = f.period() * std::min<std::int64_t>(2, f.samples() / 4 / f.period());
    for (std::int64_t s = n - span + f.period(); s <= n + reach; s += f.period()) {
      if ((s >= 0 && s < n - reach) || s + std::ssize(pilot) > std::ssize(x)) continue;
      double fit = 0;
      for (std::int64_t l = span; l < std::ssize(pilot); l += f.period())
        fit += match(s + l, &pilot[static_cast<std::size_t>(l)], std::min(f.period(), std::ssize(pilot) - l));
      if (fit > best) best = fit, start = s;
    }
    starts.push_back(start);
  }
  return starts;
}

}  // namespace iqd::preamble_search
