// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <complex>
#include <span>

#include "pipeline/stages/complex.hpp"
#include "pipeline/stages/ofdm/antenna_noise.hpp"
#include "pipeline/stages/ofdm/ofdm_clock/ofdm_clock.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::ofdm_clock {
namespace {

using complex = std::complex<double>;

/// a conj(b). std::complex's product checks for infinities.
complex product_with_conjugate(complex a, complex b) noexcept {
  return {a.real() * b.real() + a.imag() * b.imag(), a.imag() * b.real() - a.real() * b.imag()};
}

/// The weights of a carrier's neighbours, in the order of filter_tile().
constexpr std::array<float, 2 * kReach + 1> kNeighbours = [] {
  std::array<float, 2 * kReach + 1> taps{};
  for (int q = 0; q <= 2 * kReach; ++q)
    if (q != kReach) taps[static_cast<std::size_t>(q)] = 1.0F / static_cast<float>(kReach - q);
  return taps;
}();

struct Room {
  const Design& design;
  Scratch scratch;
  const Extents& e = design.extents;
  std::int64_t margin = kReach + kFilterMargin;
  complex* pilots = scratch.take<complex>(e.pilots);
  cf32* expected = scratch.take<cf32>(e.tx);  // weights of the training symbols in a pilot
  double* noise = scratch.take<double>(e.rx);
  cf32* grid = scratch.take<cf32>(e.carriers + 1 + 2 * margin);  // by frequency, with that of 0
  cf32* neighbours = scratch.take<cf32>(e.carriers + 1);
  complex* turns = scratch.take<complex>(e.carriers);
};

/// Takes out the clock of one frame.
class Frame {
 public:
  Frame(const Room& room, const cf32* carriers) : room_(room), e_(room.e), carriers_(carriers) {}

  Fit fit() const noexcept {
    if (e_.near.apart == 0) return {};
    measure_noise();
    Fit fit{.error = 0};
    for (int round = 0; round < kRounds; ++round) {
      const auto [apart, radians_per_symbol] = e_.pairs(round);
      Line line(e_.tx);
      for (int d = 0; d < e_.behind(); ++d) {
        compare_pilots(d, fit.error);
        complex pairs = 0;
        for (int i = 0; i + apart < e_.pilots; ++i)
          pairs += product_with_conjugate(room_.pilots[i + apart], room_.pilots[i]);
        line.add(e_.position(1 + e_.tx + d), pairs.real(), pairs.imag());
      }
      const Fit rest = line.fit(radians_per_symbol);
      fit = {fit.error + rest.error, rest.variance};
    }
    return fit;
  }

  void correct(double error, cf32* out) const noexcept {
    if (error == 0) {
      std::copy_n(carriers_, e_.frame(), out);
      return;
    }
    for (int s = 0; s < e_.all_symbols(); ++s) {
      find_turns(error * e_.turns_per_symbol * e_.position(s));
      for (int r = 0; r < e_.rx; ++r) correct(error, row(s) + r, out + (row(s) - carriers_) + r);
    }
  }

 private:
  const cf32* row(int symbol) const noexcept { return carriers_ + std::int64_t{symbol} * e_.carriers * e_.rx; }

  void measure_noise() const noexcept {
    const auto& odd = room_.design.odd;
    for (int r = 0; r < e_.rx; ++r) {
      double alone = 0, training = 0;
      for (const std::int32_t c : odd) alone += dsp::energy(row(0)[c * e_.rx + r]);
      for (std::int64_t i = r; i < std::int64_t{e_.tx} * e_.carriers * e_.rx; i += e_.rx)
        training += dsp::energy(row(1)[i]);
      room_.noise[r] = ofdm::noise_of(alone, static_cast<int>(odd.size()), training, e_.tx * e_.carriers);
    }
  }

  /// The pilots of a symbol behind the training against what the training lets expect, weighted by the antennas' noise, without this
  /// error of the clock.
  void compare_pilots(int d, double error) const noexcept {
    const auto turn = [&](int i, int symbol) {
      return std::polar(1.0, 2 * std::numbers::pi * e_.turns(error, symbol, e_.frequency(e_.pilot(i))));
    };
    for (int i = 0; i < e_.pilots; ++i) {
      for (int t = 0; t < e_.tx; ++t)
        room_.expected[t] = dsp::product(cf32(std::conj(turn(i, 1 + t))), weights_at(d, i)[t]);
      const std::int64_t at = std::int64_t{e_.pilot(i)} * e_.rx;
      complex sum = 0;
      for (int r = 0; r < e_.rx; ++r) {
        cf32 expected = 0;
        for (int t = 0; t < e_.tx; ++t) expected += dsp::product(room_.expected[t], row(1 + t)[at + r]);
        if (room_.noise[r] > 0)
          sum += product_with_conjugate(complex(row(1 + e_.tx + d)[at + r]), complex(expected)) / room_.noise[r];
      }
      room_.pilots[i] = product_with_conjugate(sum, turn(i, 1 + e_.tx + d));
    }
  }
  const cf32* weights_at(int d, int i) const noexcept {
    return room_.design.weights.data() + (std::int64_t{d} * e_.pilots + i) * e_.tx;
  }

  /// By how much to turn each carrier; `turns`: that of frequency 1, forwards.
  void find_turns(double turns) const noexcept {
    const complex step = std::polar(1.0, 2 * std::numbers::pi * turns);
    complex turn = std::polar(1.0, -2 * std::numbers::pi * turns * e_.frequency(0));
    for (int c = 0; c < e_.carriers; ++c) {
      room_.turns[c] = turn;
      turn = product_with_conjugate(turn, step);
      if (e_.frequency(c) == -1) turn = product_with_conjugate(turn, step);
    }
  }

  /// One symbol of an antenna.
  void correct(double error, const cf32* from, cf32* to) const noexcept {
    const bool has_neighbours = std::fabs(error) >= kLeastForNeighbours;
    cf32* const grid = room_.grid + room_.margin;
    const auto place = [this](int c) { return e_.frequency(c) + e_.carriers / 2; };
    std::fill_n(room_.neighbours, e_.carriers + 1, cf32());
    if (has_neighbours) {
      std::fill_n(room_.grid, e_.carriers + 1 + 2 * room_.margin, cf32());
      for (int c = 0; c < e_.carriers; ++c)
        grid[place(c)] = dsp::product(from[c * e_.rx], static_cast<float>(error * e_.frequency(c)));
      const FilterPhase phase{kNeighbours.data(), nullptr, std::ssize(kNeighbours),
                              reinterpret_cast<const float*>(grid + kReach)};
      filter_tile({&phase, 1}, true, reinterpret_cast<float*>(room_.neighbours), e_.carriers + 1);
    }
    for (int c = 0; c < e_.carriers; ++c)
      to[c * e_.rx] = dsp::product(from[c * e_.rx] - room_.neighbours[place(c)], cf32(room_.turns[c]));
  }

  const Room& room_;
  const Extents& e_;
  const cf32* carriers_;
};

}  // namespace

std::size_t scratch_bytes(const Design& design) {
  return Room{design, Scratch(nullptr)}.scratch.bytes();
}

void run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, Memory& memory, cf32* out, float* clock,
             std::byte* scratch) noexcept {
  const Room room{design, Scratch(scratch)};
  for (std::int64_t f = 0; f < frames; ++f) {
    const Frame frame(room, carriers + f * room.e.frame());
    const double error = clock_of(room.e, frame.fit(), memory);
    frame.correct(error, out + f * room.e.frame());
    if (clock) clock[f] = static_cast<float>(error * 1e6);
  }
}

}  // namespace iqd::ofdm_clock
