// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/qam.hpp"

/// For the tests of what comes behind ofdm_demod: frames generated in the frequency domain, in double precision.
namespace iqd::ofdm {

using complex = std::complex<double>;

inline std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// The parameters of the frames.
struct Scene {
  OfdmFormat format;
  std::int64_t rx = 2;
  std::vector<double> delays{0};    // samples
  double slope = 0;                 // radians from symbol to symbol, 0 in the middle of the training
  std::vector<double> phases = {};  // [data symbol]: on top of that
  double noise = 0;                 // variance, for a level of 1
  std::vector<double> levels = {};  // [rx]: amplitudes; all 1 if empty
  std::vector<double> moves = {};   // [path]: radians from symbol to symbol, 0 in the middle of the training
  bool gap = false;                 // with a tail: no frame follows
  double interferer = 0;            // its power at each antenna, from one direction, on all carriers and symbols
  std::vector<int> bits = {};       // of each transmit antenna's points; QPSK if empty
};

/// Received carriers, and their contents.
struct Signal : Scene {
  explicit Signal(Scene scene) : Scene(std::move(scene)), reference_(format) {}

  std::vector<complex> h;  // [data carrier][rx][tx], of the last frame, levels included
  std::vector<complex> s;  // [data carrier][data symbol][tx]

  /// From now on the antennas announce these numbers.
  void announce(const std::vector<int>& numbers) {
    announced_.clear();
    for (const int number : numbers) announced_.push_back(OfdmAnnouncement::signs(number, format.carriers));
  }

  double level(std::int64_t r) const { return levels.empty() ? 1 : levels[index(r)]; }

  std::vector<cf32> frame() {
    draw();
    std::vector<cf32> y;
    for (std::int64_t symbol = 0; symbol < format.symbols() + format.tail_symbols(); ++symbol)
      for (std::int64_t c = 0; c < format.carriers; ++c) {
        const auto x = sent(symbol, c);
        const complex other = interferer > 0 ? complex{normal(), normal()} / std::sqrt(2.0) : 0;
        for (std::int64_t r = 0; r < rx; ++r) {
          complex sum{normal() * std::sqrt(noise / 2), normal() * std::sqrt(noise / 2)};
          for (std::int64_t a = 0; a < format.tx; ++a) sum += turn_of(symbol) * gain(c, r, a, symbol) * x[index(a)];
          sum += other * std::polar(std::sqrt(interferer), 2.0 * static_cast<double>(r * r));
          y.emplace_back(level(r) * sum);
        }
      }
    return y;
  }
  std::vector<cf32> frames(int count) {
    std::vector<cf32> all;
    for (int i = 0; i < count; ++i) {
      const auto one = frame();
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  /// In braces, for their order: then each compiler makes the same frames.
  double normal() { return normal_(engine_); }

  /// In symbols; those of the tail are symbols of the next frame.
  double time_of(std::int64_t symbol) const {
    const bool own = symbol < format.symbols();
    return (own ? static_cast<double>(symbol) : format.tail_position(symbol - format.symbols())) -
           0.5 * static_cast<double>(format.tx + 1);
  }

  void draw() {
    gains_.resize(delays.size() * index(rx * format.tx));
    for (complex& g : gains_) g = complex{normal(), normal()} / std::sqrt(2.0 * static_cast<double>(delays.size()));
    s.resize(index(format.data_carriers() * format.data_symbols() * format.tx));
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = point(bits.empty() ? 2 : bits[i % bits.size()]);
    h.clear();
    for (std::int64_t c = 0; c < format.carriers; ++c)
      for (std::int64_t r = 0; !format.is_pilot(c) && r < rx; ++r)
        for (std::int64_t a = 0; a < format.tx; ++a) h.push_back(level(r) * gain(c, r, a, 0));
  }
  complex point(int own_bits) {
    if (own_bits == 0) return 0;
    const auto levels_of_axis = 1u << own_bits / 2;
    const auto level = [&] { return 2.0 * static_cast<double>(engine_() % levels_of_axis) - (levels_of_axis - 1.0); };
    return complex{level(), level()} / std::sqrt(static_cast<double>(qam::power(own_bits / 2)));
  }
  /// As seen through a window that begins an eighth of the prefix early.
  complex gain(std::int64_t c, std::int64_t r, std::int64_t a, std::int64_t symbol) const {
    const double time = time_of(symbol);
    complex sum = 0;
    for (std::size_t p = 0; p < delays.size(); ++p) {
      const double late = delays[p] + static_cast<double>(format.prefix / 8);
      const double turns = static_cast<double>(format.frequency_of(c)) * late / static_cast<double>(format.fft);
      sum += gains_[(p * index(rx) + index(r)) * index(format.tx) + index(a)] *
             std::polar(1.0, -2 * std::numbers::pi * turns + (moves.empty() ? 0.0 : moves[p] * time));
    }
    return sum;
  }
  complex turn_of(std::int64_t symbol) const {
    const auto behind = static_cast<std::int32_t>(symbol - 1 - format.tx);
    const bool data = symbol < format.symbols() && behind >= 0 && format.comb().in(behind) < 0;
    return std::polar(1.0, slope * time_of(symbol) +
                               (data && !phases.empty() ? phases[index(format.comb().data_before(behind))] : 0.0));
  }
  std::vector<complex> sent(std::int64_t symbol, std::int64_t c) const {
    std::vector<complex> x(index(format.tx));
    if (symbol >= format.symbols()) return gap ? x : sent(symbol - format.symbols(), c);
    const auto behind = static_cast<std::int32_t>(symbol - 1 - format.tx);
    const std::int64_t j = behind < 0 ? -1 : format.comb().in(behind);
    const std::int64_t d = format.comb().data_before(behind),
                       pilots_below = (c + format.pilot_every / 2) / format.pilot_every;
    for (std::int64_t a = 0; a < format.tx; ++a) {
      complex& v = x[index(a)];
      if (symbol == 0) {
        v = reference_.sync_antenna(c) == a ? reference_.sync()[index(c)] : 0;
        if (v != 0.0 && !announced_.empty()) v *= announced_[index(a)][index(reference_.sync_number(c))];
      } else if (behind < 0)
        v = static_cast<double>(reference_.training()[index(c)]) * complex(reference_.cover(a, symbol - 1));
      else if (j >= 0)
        v = reference_.midamble(j, c, a);
      else if (format.is_pilot(c))
        v = reference_.pilot(behind, c / format.pilot_every, a);
      else
        v = s[index(((c - std::min(pilots_below, format.pilots())) * format.data_symbols() + d) * format.tx + a)];
    }
    return x;
  }

  OfdmReference reference_;
  std::vector<complex> gains_;                 // [path][rx][tx]
  std::vector<std::vector<float>> announced_;  // [tx][number of the antenna's carrier]
  std::mt19937 engine_{5};
  std::normal_distribution<double> normal_;
};

}  // namespace iqd::ofdm
