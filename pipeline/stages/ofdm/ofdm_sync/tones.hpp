// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "base/views.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/grid.hpp"

/// Frames beside steady tones: a tone adds the same to the similarity of any two stretches at one distance, so what
/// other stretches have in common is subtracted. CPU and GPU share this arithmetic.
namespace iqd::ofdm_sync {

/// The halves of one antenna at each grid point: c, and 1 / their mean energy. All are 0 if there is hardly any energy,
/// a NaN or an infinity.
struct Alikes {
  const float* re;
  const float* im;
  const float* inverse;
  std::int64_t count;  // of grid points
};
inline constexpr int kAlikes = 3;

/// 0 if c does not count.
IQD_HOST_DEVICE inline float inverse_energy(const Alike& a) noexcept {
  const float inverse = 1 / a.energy;
  return a.c.re * a.c.re + a.c.im * a.c.im <= 4 && inverse <= FLT_MAX ? inverse : 0;
}

/// What other stretches have in common: sums of c and of 1 / energy. So a stretch counts by 1 / energy: a strong frame
/// nearby hides no weak one.
struct Others {
  Complex c;
  float inverse = 0;
  float count = 0;

  IQD_HOST_DEVICE void add(Complex other, float other_inverse) noexcept {
    c = {c.re + other.re, c.im + other.im};
    inverse += other_inverse;
    count += other_inverse > 0 ? 1.0f : 0.0f;
  }
};

/// Of the energy; below it a signal is not separated from a tone.
inline constexpr float kLeastBeside = 0.05f;

/// c and energy without the tone, |c| at most 1. In units of the stretches' own energy, so nothing overflows.
IQD_HOST_DEVICE inline Alike without_tone(Complex c, float inverse, const Others& others) noexcept {
  const float scale = others.inverse > 0 ? inverse / others.inverse : 0;
  const Complex tone{others.c.re * scale, others.c.im * scale};
  const float usual = others.count * scale;
  const float square = tone.re * tone.re + tone.im * tone.im;
  if (!(inverse > 0 && square <= FLT_MAX && usual <= FLT_MAX)) return {};
  const float size = std::sqrt(square);
  // Tone and signal may cancel each other, which leaves too little energy: then the usual energy counts.
  const float left =
      std::fmax(std::fmax(1 - size, std::fmin(1.0f, usual - size)), kLeastBeside * std::fmax(1.0f, usual));
  const Complex rest{(c.re - tone.re) / left, (c.im - tone.im) / left};
  const float most = std::fmax(1.0f, std::sqrt(rest.re * rest.re + rest.im * rest.im));
  return {{rest.re / most, rest.im / most}, left / inverse};
}

/// The halves at grid point j; the order of operations is that of `find_likeness_beside_tones`.
IQD_HOST_DEVICE inline Alike halves_beside_tones(const Grid& grid, const Alikes& all, std::int64_t j) noexcept {
  Others others;
  for (std::int64_t i = -grid.others; i <= grid.others; ++i) {
    const std::int64_t k = j + i * grid.apart;
    if (i != 0 && k >= 0 && k < all.count) others.add({all.re[k], all.im[k]}, all.inverse[k]);
  }
  return without_tone({all.re[j], all.im[j]}, all.inverse[j], others);
}

/// The similarity of stretches of `count` samples within longer ones of `count_of_all`, at the same distance. Means are
/// those of the longer ones: a tone may have a mean over prefixes, which are as far apart as symbols.
IQD_HOST_DEVICE inline Complex alike_beside_tones(const Stretches& s, float count, const Stretches& all,
                                                  float count_of_all) noexcept {
  const float each = 1 / count_of_all;
  const Complex a{all.first.re * each, all.first.im * each};
  const Complex b{all.second.re * each, all.second.im * each};
  const float energy = s.energy -
                       2 * ((a.re * s.first.re + a.im * s.first.im) + (b.re * s.second.re + b.im * s.second.im)) +
                       count * ((a.re * a.re + a.im * a.im) + (b.re * b.re + b.im * b.im));
  if (!(energy > kLeastShare * s.energy && energy <= FLT_MAX)) return {};
  const Complex product{s.product.re - (a.re * s.second.re + a.im * s.second.im) -
                            (s.first.re * b.re + s.first.im * b.im) + count * (a.re * b.re + a.im * b.im),
                        s.product.im - (a.re * s.second.im - a.im * s.second.re) -
                            (s.first.re * b.im - s.first.im * b.re) + count * (a.re * b.im - a.im * b.re)};
  const float half = 0.5f * energy;
  const Alike own{{product.re / half, product.im / half}, half};
  Alike whole = alike(all, each);
  whole.energy *= count * each;
  Others others;
  others.add(whole.c, inverse_energy(whole));
  return without_tone(own.c, inverse_energy(own), others).c;
}

/// A carrier of a training symbol, reduced if only a tone can be that strong. A tone's few carriers would show as a
/// path, wide and early.
IQD_HOST_DEVICE inline Complex limited(Complex y, float most_power) noexcept {
  const float power = y.re * y.re + y.im * y.im;
  if (!(power > most_power)) return y;
  return {y.re * (most_power / power), y.im * (most_power / power)};
}

}  // namespace iqd::ofdm_sync
