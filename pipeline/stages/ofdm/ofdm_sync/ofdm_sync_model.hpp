// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <optional>
#include <random>
#include <vector>

#include "signal/formats/ofdm_format.hpp"

/// For the tests: signals that antennas receive from frames through channels of a few paths, in double precision.
namespace iqd::ofdm_sync {

using Row = std::vector<std::complex<double>>;

/// Rows of one frame with random data, [tx][sample].
inline std::vector<Row> frame_rows(const OfdmFormat& format, unsigned seed) {
  const OfdmFrameMaker maker(format, Modulation::qpsk);
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(format.bits(Modulation::qpsk)));
  for (auto& bit : bits) bit = engine() >> 16 & 1;
  std::vector<std::vector<cf32>> made(static_cast<std::size_t>(format.tx),
                                      std::vector<cf32>(static_cast<std::size_t>(format.frame)));
  std::vector<cf32*> rows;
  for (auto& row : made) rows.push_back(row.data());
  std::vector<std::byte> scratch(maker.scratch_bytes());
  maker.make(bits, rows, scratch.data());
  std::vector<Row> all;
  for (const auto& row : made) all.emplace_back(row.begin(), row.end());
  return all;
}

/// Echoes at whole samples: the same delays for all pairs of antennas, with separate phases and, if `fading`, separate
/// amplitudes.
struct Echo {
  std::int64_t delay = 0;
  double level_db = 0;
};

struct Scene {
  OfdmFormat format;
  std::int64_t rx = 2;
  std::vector<std::int64_t> starts = {};
  std::int64_t length = 0;
  std::vector<Echo> echoes = {{}};
  double offset_hz = 0;
  double rate_hz = 7.68e6;
  double noise_db = -300;              // relative to one transmit antenna's power, at an antenna of level 0 dB
  std::vector<double> level_db = {};   // by receive antenna, for signal and noise
  std::optional<double> tone_db = {};  // above one carrier of all transmit antennas, with a phase for each antenna
  double tone_at = 0;                  // carriers
  unsigned seed = 1;
};

inline void add_tone(const Scene& s, std::vector<Row>& x) {
  std::mt19937 engine(s.seed + 1000);
  std::uniform_real_distribution<double> turn(-std::numbers::pi, std::numbers::pi);
  double signal = 0;
  for (const Echo& echo : s.echoes) signal += std::pow(10, echo.level_db / 10);
  const double level = std::sqrt(signal / static_cast<double>(s.format.carriers)) * std::pow(10, *s.tone_db / 20);
  for (Row& row : x) {
    const auto gain = std::polar(level, turn(engine));
    for (std::int64_t n = 0; n < s.length; ++n)
      row[static_cast<std::size_t>(n)] +=
          gain * std::polar(1.0, 2 * std::numbers::pi * s.tone_at * static_cast<double>(n) /
                                     static_cast<double>(s.format.fft));
  }
}

/// [rx][n]
inline std::vector<Row> receive(const Scene& s) {
  std::mt19937 engine(s.seed);
  std::uniform_real_distribution<double> turn(-std::numbers::pi, std::numbers::pi);
  std::normal_distribution<double> part(0, std::sqrt(std::pow(10, s.noise_db / 10) / 2));
  std::vector<Row> x(static_cast<std::size_t>(s.rx), Row(static_cast<std::size_t>(s.length)));
  for (std::size_t f = 0; f < s.starts.size(); ++f) {
    const auto sent = frame_rows(s.format, s.seed + static_cast<unsigned>(f));
    for (Row& row : x)
      for (const Row& antenna : sent)
        for (const Echo& echo : s.echoes) {
          const auto gain = std::polar(std::pow(10, echo.level_db / 20) / std::sqrt(sent.size()), turn(engine));
          for (std::int64_t m = 0; m < s.format.frame; ++m) {
            const std::int64_t n = s.starts[f] + echo.delay + m;
            if (n >= 0 && n < s.length) row[static_cast<std::size_t>(n)] += gain * antenna[static_cast<std::size_t>(m)];
          }
        }
  }
  for (std::size_t r = 0; r < x.size(); ++r) {
    const double level = r < s.level_db.size() ? std::pow(10, s.level_db[r] / 20) : 1;
    for (std::int64_t n = 0; n < s.length; ++n) {
      auto& v = x[r][static_cast<std::size_t>(n)];
      v *= std::polar(1.0, 2 * std::numbers::pi * s.offset_hz * static_cast<double>(n) / s.rate_hz);
      const double re = part(engine);
      v = level * (v + std::complex<double>(re, part(engine)));
    }
  }
  if (s.tone_db) add_tone(s, x);
  return x;
}

/// C and E of one antenna: the correlation of the two stretches from g on, and their mean energy, without their means.
struct Correlation {
  std::complex<double> product;
  double energy;
};
inline Correlation correlation(const Row& x, std::int64_t g, std::int64_t lag, std::int64_t length) {
  const auto stretch = [&](std::int64_t from) {
    Row y(x.begin() + from, x.begin() + from + length);
    std::complex<double> mean = 0;
    for (const auto& v : y) mean += v / static_cast<double>(length);
    for (auto& v : y) v -= mean;
    return y;
  };
  const Row a = stretch(g), b = stretch(g + lag);
  Correlation c{};
  for (std::size_t m = 0; m < a.size(); ++m) {
    c.product += std::conj(a[m]) * b[m];
    c.energy += 0.5 * (std::norm(a[m]) + std::norm(b[m]));
  }
  return c;
}

/// M(g) with `reject_tones`, by the page's formulas. Positions count from the stream's first sample.
inline double likeness_beside_tones(const std::vector<Row>& x, const OfdmFormat& f, std::int64_t g) {
  const std::int64_t lag = f.fft / 2, step = lag / 16;
  const std::int64_t length = (lag + f.first_prefix() - f.prefix) / step * step;
  const std::int64_t others = std::min<std::int64_t>(f.frame / f.fft, 30);
  const std::int64_t apart = f.frame / 2 / step / others * step;
  std::complex<double> sum = 0;
  double weight = 0;
  for (const Row& row : x) {
    std::complex<double> alike = 0;
    double inverse = 0, count = 0;
    for (std::int64_t i = -others; i <= others; ++i) {
      const std::int64_t at = g + i * apart;
      if (i == 0 || at < 0 || at + lag + length > std::ssize(row)) continue;
      const Correlation other = correlation(row, at, lag, length);
      alike += other.product / other.energy, inverse += 1 / other.energy, ++count;
    }
    const Correlation own = correlation(row, g, lag, length);
    const double usual = count / inverse, tone = std::abs(alike / inverse);
    const double left =
        std::max({own.energy - tone, std::min(own.energy, usual - tone), 0.05 * std::max(own.energy, usual)});
    std::complex<double> c = (own.product - alike / inverse) / left;
    c /= std::max(1.0, std::abs(c));
    sum += std::norm(c) * c, weight += std::norm(c);
  }
  return std::abs(sum) / weight;
}

}  // namespace iqd::ofdm_sync
