// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "signal/filters/scratch.hpp"

/// The CPU's working memory of one frame, and the loops over it that are compiled for each SIMD target.
///
/// Vectors are stored in planes, so that one SIMD operation handles many vectors. Everything else is stored in rows of
/// `columns` users (a multiple of kColumns; those after the last user are 0).
namespace iqd::noma {

inline constexpr std::int64_t kColumns = 8;
inline constexpr std::int64_t kTile = 64;  // places whose kernels are computed at once, and data vectors

/// Received vectors, scaled: [antenna][real, imaginary][vector], and |x|^2 / 2 of each. After the last one there is
/// room to read a whole tile.
struct Planes {
  Planes(std::int64_t count, int antennas, Scratch& scratch)
      : pitch((count + kTile - 1) / kTile * kTile + kTile),
        x(scratch.take<float>(2 * antennas * pitch)),
        half(scratch.take<float>(pitch)) {}

  float* real(std::int64_t antenna) const { return x + 2 * antenna * pitch; }
  float* imag(std::int64_t antenna) const { return real(antenna) + pitch; }

  std::int64_t pitch;
  float* x;
  float* half;
};

struct WorkingSet {
  WorkingSet(const Method& m, Scratch& scratch)
      : method(m),
        places(m.dictionary, m.antennas, scratch),
        vectors(kTile, m.antennas, scratch),
        gamma(scratch.take<float>(places.pitch * 2 * columns)),
        c(scratch.take<float>(m.antennas * 2 * columns)),
        sent(scratch.take<float>(m.pilots * 2 * columns)),
        has_kernel(scratch.take<float>(m.pilots)),
        inverse(scratch.take<float>(m.pilots)),
        linear(scratch.take<float>(kTile * 2 * columns)),
        gaussian(scratch.take<float>(kTile * 2 * columns)),
        error(scratch.take<float>(m.window * 2 * columns)),
        delta(scratch.take<float>(m.window * 2 * columns)),
        gram(scratch.take<float>(m.window * m.window * 3)) {
    for (int a = 0; a < m.antennas; ++a)
      if (m.used[static_cast<std::size_t>(a)]) used[static_cast<std::size_t>(used_count++)] = a;
    if (m.passes > 0) {
      first_place = m.old_places() > 0 ? 0 : m.pilots - m.kernels;
      end_place = m.dictionary;
    }
  }

  /// The users of row `i`, part 0 or 1 (of v1, v2; of the real, the imaginary part) of gamma, c, sent …
  std::int64_t row(std::int64_t i, int part) const { return (2 * i + part) * columns; }
  /// The k-th antenna in use.
  int antenna(int k) const { return used[static_cast<std::size_t>(k)]; }
  /// The place of this frame's pilot t.
  std::int64_t place(std::int64_t t) const { return method.old_places() + t; }

  const Method& method;
  std::int64_t columns = (method.users + kColumns - 1) / kColumns * kColumns;
  std::array<int, kMostAntennas> used{};
  int used_count = 0;
  std::int64_t first_place = 0;  // of those that may have kernels
  std::int64_t end_place = 0;
  Planes places;
  Planes vectors;     // a tile of the data
  float* gamma;       // [place][part][user]
  float* c;           // [antenna][part][user]
  float* sent;        // [pilot][part][user]
  float* has_kernel;  // [pilot]: 1, or 0
  float* inverse;     // [pilot]: of w_L |x|^2 + w_G, or 0
  float* linear;      // [vector][part][user]: w_L c.v
  float* gaussian;    // [vector][part][user]: sum of gamma K, without w_G
  float* error;       // [pilot modulo W][part][user]: b - f, for the window's pilots
  float* delta;       // [pilot modulo W][part][user]
  float* gram;        // [pilot modulo W][pilot modulo W][3]
};

inline bool is_finite(cf32 x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

/// |x|^2 / 2 of `count` vectors.
void measure(const WorkingSet& w, const Planes& vectors, std::int64_t count) noexcept;
/// Both parts of f, for `count` vectors from `first` on; at most kTile. Without `kernels` the Gaussian part is 0.
void evaluate(const WorkingSet& w, const Planes& vectors, std::int64_t first, std::int64_t count,
              bool kernels) noexcept;
/// All passes over this frame's pilots.
void train(const WorkingSet& w) noexcept;

/// The inputs after the first three, for one frame.
struct Given {
  const cf32* start;   // [user][antenna]
  const cf32* h;       // [antenna][user]
  const float* noise;  // [1]
};
/// Sets c to the start of training; returns false if a given value is not finite. `valid`: number of usable pilots.
bool begin(const WorkingSet& w, const Given& given, std::int64_t valid, float scale, std::byte* memory) noexcept;
std::size_t begin_bytes(const Method& method);

}  // namespace iqd::noma
