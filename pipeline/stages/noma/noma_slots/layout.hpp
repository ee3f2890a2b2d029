// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/views.hpp"
#include "pipeline/stages/arithmetic.hpp"

/// The arithmetic that CPU and GPU share: memory layout, and sums in a fixed order.
namespace iqd::noma_slots {

inline constexpr std::int64_t kMostAntennas = 64;
inline constexpr std::int64_t kBefore = 2;  // symbols before the pilots: synchronisation, training
inline constexpr int kSums = 256;           // partial sums, for all antennas together

using elementwise::Complex;

IQD_HOST_DEVICE inline void add(Complex& sum, Complex a) noexcept {
  sum.re += a.re, sum.im += a.im;
}

/// Sums over pairs: of a* b, and of their mean energies.
struct Pairs {
  Complex product;
  float energy = 0;

  IQD_HOST_DEVICE void add(Complex a, Complex b, float sign) noexcept {
    noma_slots::add(product, elementwise::product({sign * a.re, -sign * a.im}, b));
    energy += 0.5f * ((a.re * a.re + a.im * a.im) + (b.re * b.re + b.im * b.im));
  }
  IQD_HOST_DEVICE void add(const Pairs& other) noexcept {
    noma_slots::add(product, other.product);
    energy += other.energy;
  }
  /// |c|^2 c, where c is the product over the energy: an antenna that receives only noise, however loud, counts next to
  /// nothing.
  IQD_HOST_DEVICE Complex weighted() const noexcept { return weighted(product, energy); }
  /// A value of amplitude kind, weighted by the same |c|^2 and normalised like all others.
  IQD_HOST_DEVICE Complex weighted(Complex amplitude) const noexcept { return weighted(amplitude, std::sqrt(energy)); }

 private:
  IQD_HOST_DEVICE Complex weighted(Complex value, float level) const noexcept {
    const Complex c{product.re / energy, product.im / energy};
    const float square = c.re * c.re + c.im * c.im;
    if (!(square <= 4)) return {};  // not finite: |c| is at most 1
    return {square * (value.re / level), square * (value.im / level)};
  }
};

IQD_HOST_DEVICE inline void add(Pairs& sum, const Pairs& other) noexcept {
  sum.add(other);
}

/// Factor that turns it onto the positive real axis; 1 if undefined.
IQD_HOST_DEVICE inline Complex turn_back(Complex sum) noexcept {
  const float size = std::sqrt(sum.re * sum.re + sum.im * sum.im);
  if (!(size > 0 && size <= FLT_MAX)) return {1, 0};
  return {sum.re / size, -sum.im / size};
}
/// In turns; 0 for a sum of 0.
IQD_HOST_DEVICE inline double turns_in(Complex sum) noexcept {
  return 0.5 * std::numbers::inv_pi * std::atan2(static_cast<double>(sum.im), static_cast<double>(sum.re));
}
IQD_HOST_DEVICE inline double within_half(double turns) noexcept {
  return turns - std::rint(turns);
}
/// exp(j 2 pi turns), rounded from double, so that CPU and GPU agree.
IQD_HOST_DEVICE inline Complex exact_phasor(double turns) noexcept {
  double sine, cosine;
#ifdef __CUDA_ARCH__
  sincospi(2 * within_half(turns), &sine, &cosine);
#else
  const double angle = 2 * std::numbers::pi * within_half(turns);
  sine = std::sin(angle), cosine = std::cos(angle);
#endif
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

/// A frame in numbers.
struct Layout {
  std::int64_t fft;
  std::int64_t carriers;
  std::int64_t symbols;
  std::int64_t rx;
  std::int64_t users;
  std::int64_t training;  // pilot symbols
  std::int64_t pilots;
  std::int64_t data;
  std::int64_t early;
  bool timing;
  bool drift;

  IQD_HOST_DEVICE std::int64_t half() const noexcept { return carriers / 2; }
  IQD_HOST_DEVICE std::int64_t frequency_of(std::int64_t c) const noexcept {
    return c < half() ? c - half() : c - half() + 1;
  }
  /// Elements of one input symbol, of a frame, and of all channels of a frame.
  IQD_HOST_DEVICE std::int64_t symbol_size() const noexcept { return carriers * rx; }
  IQD_HOST_DEVICE std::int64_t frame_size() const noexcept { return symbols * symbol_size(); }
  IQD_HOST_DEVICE std::int64_t channels_size() const noexcept { return training * users * rx; }
  /// Number of partial sums per antenna.
  IQD_HOST_DEVICE int parts() const noexcept { return kSums / static_cast<int>(rx); }

  /// Carriers below the middle with those above it. `signs`: the sign that each was sent with.
  IQD_HOST_DEVICE Pairs halves_of(const Complex* symbol, const Complex* signs, std::int64_t r,
                                  int part) const noexcept {
    Pairs sum;
    for (std::int64_t c = part; c < half(); c += parts())
      sum.add(symbol[c * rx + r], symbol[(c + half()) * rx + r], signs[c].re * signs[c + half()].re);
    return sum;
  }
  /// `row`: the carriers' weights, from Known; ramp(carrier).
  template <class Ramp> IQD_HOST_DEVICE Complex channel_of(const Complex* symbol, const Complex* row, std::int64_t r,
                                                           int part, Ramp ramp) const noexcept {
    Complex sum;
    for (std::int64_t c = part; c < carriers; c += parts())
      add(sum, product(row[c], product(symbol[c * rx + r], ramp(c))));
    return sum;
  }
  /// All users' channels with those of the next symbol. `channels`: [symbol][user][rx]
  IQD_HOST_DEVICE Pairs neighbours_of(const Complex* channels, std::int64_t r, int part) const noexcept {
    Pairs sum;
    for (std::int64_t i = part; i < (training - 1) * users; i += parts())
      sum.add(channels[i * rx + r], channels[(i + users) * rx + r], 1);
    return sum;
  }

  IQD_HOST_DEVICE float delay_of(Complex halves) const noexcept {
    if (halves.re == 0 && halves.im == 0) return 0;
    const std::int64_t apart = half() + 1;
    const double window = static_cast<double>(early * apart % fft) / static_cast<double>(fft);
    return static_cast<float>(-within_half(turns_in(halves) + window) * static_cast<double>(fft) /
                              static_cast<double>(apart));
  }
  IQD_HOST_DEVICE static float drift_of(Complex neighbours) noexcept {
    return static_cast<float>(2 * std::numbers::pi * turns_in(neighbours));
  }
  /// Rotation of a carrier, and of a symbol counted from the training symbol.
  IQD_HOST_DEVICE Complex ramp_of(std::int64_t c, float late) const noexcept {
    return exact_phasor(static_cast<double>(frequency_of(c)) *
                        (static_cast<double>(early) + static_cast<double>(late)) / static_cast<double>(fft));
  }
  IQD_HOST_DEVICE static Complex spin_of(std::int64_t s, float turning) noexcept {
    return exact_phasor(-0.5 * std::numbers::inv_pi * static_cast<double>(s) * static_cast<double>(turning));
  }
};

/// The outputs of all frames. train_tx may be null.
struct Output {
  Complex* train_rx;
  Complex* train_tx;
  Complex* rx;
  float* delay;
  float* drift;

  /// Where the antennas of carrier c of symbol s go, counted from the first pilot symbol; null if it is not used.
  IQD_HOST_DEVICE Complex* row_of(const Layout& l, std::int64_t frame, std::int64_t s, std::int64_t c) const noexcept {
    const std::int64_t t = s * l.carriers + c, d = t - l.training * l.carriers;
    if (d < 0) return t < l.pilots ? train_rx + (frame * l.pilots + t) * l.rx : nullptr;
    return d < l.data ? rx + (frame * l.data + d) * l.rx : nullptr;
  }
};

}  // namespace iqd::noma_slots
