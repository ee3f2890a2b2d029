// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "pipeline/stages/noma/multiuser/decide.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "pipeline/stages/noma/multiuser/working_set.hpp"

namespace iqd::noma {

/// Writes a frame's results to a job's outputs; outputs that nothing reads are null.
class Results {
 public:
  /// Values of a user's model.
  struct Values {
    float noise, gaussian, error;
  };

  Results(const Method& method, const Job& job, const WorkingSet& set) : m_(method), job_(job), w_(set) {}

  /// Writes the frame's model; `values`: one per user, null if the frame is untrained.
  void put_model(std::int64_t frame, const Values* values) const {
    for (int u = 0; u < m_.users; ++u) {
      const std::int64_t item = frame * m_.users + u;
      if (job_.model) put_values(u, values, job_.model + item * std::ssize(kModelValues));
      for (std::int64_t i = 0; job_.linear && i < 2 * m_.antennas; ++i)
        job_.linear[item * 2 * m_.antennas + i] = w_.c[w_.row(i % m_.antennas, i < m_.antennas ? 0 : 1) + u];
      for (std::int64_t i = 0; job_.gamma && i < 2 * m_.dictionary; ++i)
        job_.gamma[item * 2 * m_.dictionary + i] = w_.gamma[i * w_.columns + u];
    }
  }
  /// Writes a user's symbols of the tile, to places from `at` on.
  void put_symbols(int u, std::int64_t at, std::span<const std::uint8_t> usable, float noise) const {
    const Decider decide(m_.map, noise);
    const std::int64_t bits = m_.bits();
    for (std::int64_t i = 0; i < std::ssize(usable); ++i, ++at) {
      const cf32 z(w_.linear[w_.row(i, 0) + u], w_.linear[w_.row(i, 1) + u]);
      if (job_.symbols) job_.symbols[at] = z;
      if (!job_.llr && !job_.bits) continue;
      decide(z.real(), z.imag(), [&](int b, float llr) {
        llr = usable[static_cast<std::size_t>(i)] ? llr : 0;
        if (job_.bits) job_.bits[at * bits + b] = llr < 0;
        if (job_.llr) put_llr(at * bits + b, held_by(m_.form, m_.llr_scale, llr));
      });
    }
  }
  /// Erases a whole frame; returns its number of vectors.
  std::int64_t erase(std::int64_t frame) const {
    const std::int64_t symbols = m_.users * m_.data, bits = symbols * m_.bits();
    if (job_.symbols) std::fill_n(job_.symbols + frame * symbols, symbols, cf32(0));
    if (job_.bits) std::fill_n(job_.bits + frame * bits, bits, std::uint8_t{0});
    for (std::int64_t i = frame * bits; job_.llr && i < (frame + 1) * bits; ++i) put_llr(i, 0);
    return m_.data;
  }

 private:
  void put_values(int u, const Values* of, float* to) const {
    if (!of) return static_cast<void>(std::fill_n(to, std::ssize(kModelValues), 0.0f));
    double power = 0;
    for (std::int64_t row = 0; row < 2 * m_.antennas; ++row) {
      const auto c = static_cast<double>(w_.c[row * w_.columns + u]);
      power += c * c;
    }
    const Values& v = of[u];
    const float values[] = {v.noise, static_cast<float>(std::sqrt(power)), v.gaussian, v.error};
    std::copy_n(values, std::size(values), to);
  }
  void put_llr(std::int64_t at, float llr) const {
    if (m_.form == LlrForm::f32) static_cast<float*>(job_.llr)[at] = llr;
    if (m_.form == LlrForm::f16) static_cast<f16*>(job_.llr)[at] = to_f16(llr);
    if (m_.form == LlrForm::i8) static_cast<std::int8_t*>(job_.llr)[at] = static_cast<std::int8_t>(llr);
  }

  const Method& m_;
  const Job& job_;
  const WorkingSet& w_;
};

}  // namespace iqd::noma
