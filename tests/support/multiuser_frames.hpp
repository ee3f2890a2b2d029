// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pipeline/stages/noma/multiuser/engine.hpp"
#include "tests/support/apsm_definition.hpp"
#include "tests/support/special_numbers.hpp"

/// Frames of several users for the engine of their detectors, and its results compared with the definition.
namespace iqd::testing {

inline std::size_t size_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// As with the keys' defaults.
inline noma::Method method_of(int antennas, int users, std::int64_t pilots, std::int64_t data) {
  noma::Method m;
  m.antennas = m.used_count = antennas;
  m.users = users;
  m.pilots = m.dictionary = m.kernels = pilots;
  m.data = data;
  m.exponent = 1 / (2 * 0.05f * 2 * static_cast<float>(antennas));
  m.weight.fill(1);
  for (int a = 0; a < antennas; ++a) m.used[size_of(a)] = true;
  return m;
}
inline void share_weights(noma::Method& m) {
  float sum = 0;
  for (std::size_t k = 0; k < m.weight.size(); ++k) m.share[k] = 1 / (2 * (sum += m.weight[k]));
}

/// MultiuserFrames of a channel, and the engine's results for them.
struct MultiuserFrames {
  MultiuserFrames(noma::Method of, std::int64_t frames, unsigned seed = 1)
      : m(of), count(static_cast<std::int32_t>(frames)), random(seed) {
    m.most = frames;
    h.resize(size_of(m.antennas * m.users));
    for (cf32& x : h) x = normal();
    sent.resize(size_of(frames * m.data * m.users));
    train_tx.resize(size_of(frames * m.pilots * m.users));
    for (auto* list : {&sent, &train_tx})
      for (cf32& x : *list) x = point_of(m.map, static_cast<unsigned>(random()) & 0xff);
    train_rx = received(train_tx);
    rx = received(sent);
  }

  cf32 normal() {
    const float re = gauss(random);
    return cf32(re, gauss(random)) * std::sqrt(0.5f);
  }
  std::vector<cf32> received(const std::vector<cf32>& from) {
    std::vector<cf32> to(from.size() / size_of(m.users) * size_of(m.antennas));
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t t = i / size_of(m.antennas), a = i % size_of(m.antennas);
      to[i] = 0.3f * normal();
      for (std::size_t u = 0; u < size_of(m.users); ++u)
        to[i] += h[a * size_of(m.users) + u] * from[t * size_of(m.users) + u];
    }
    return to;
  }

  void allocate() {
    const std::int64_t items = m.most * m.users;
    symbols.assign(size_of(items * m.data), cf32(kNotANumber));
    llr.assign(size_of(items * m.data * m.bits()), kNotANumber);
    bits.assign(llr.size(), 9);
    model.assign(size_of(items * 4), kNotANumber);
    linear.assign(size_of(items * 2 * m.antennas), kNotANumber);
    gamma.assign(size_of(items * 2 * m.dictionary), kNotANumber);
  }
  noma::Job job() {
    noma::Job j{.train_rx = train_rx.data(),
                .train_tx = train_tx.data(),
                .rx = rx.data(),
                .start = start.data(),
                .h = h.data(),
                .noise = &noise,
                .frames = &count,
                .starts = &starts,
                .noises = &noises,
                .symbols = symbols.data(),
                .llr = llr.data(),
                .bits = bits.data(),
                .model = model.data(),
                .linear = linear.data(),
                .gamma = gamma.data(),
                .events = events,
                .counts = {}};
    for (std::size_t o = 0; o < noma::kOutputs; ++o) j.counts[o] = &counts[o];
    return j;
  }
  /// The scratch memory contains garbage before.
  void run() {
    allocate();
    run(job());
  }
  void run(const noma::Job& j, bool fresh = true) {
    share_weights(m);
    const noma::Engine engine(m);
    std::vector<std::byte> scratch(engine.scratch_bytes(), std::byte{0xff});
    carry.resize(engine.carry_bytes() + 64, std::byte{0xff});
    std::fill(carry.end() - 64, carry.end(), std::byte{0x55});
    engine.run(j, fresh, carry.data(), scratch.data());
    EXPECT_TRUE(std::all_of(carry.end() - 64, carry.end(), [](std::byte b) { return b == std::byte{0x55}; }));
  }

  cf32 symbol(std::int64_t frame, int user, std::int64_t t) const {
    return symbols[size_of((frame * m.users + user) * m.data + t)];
  }
  float value(std::int64_t frame, int user, int which) const {
    return model[size_of((frame * m.users + user) * 4 + which)];
  }
  template <class T> std::vector<T> of_frame(const std::vector<T>& all, std::int64_t frame, int user) const {
    const std::size_t n = all.size() / size_of(m.most * m.users), at = size_of(frame * m.users + user) * n;
    return {all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + n)};
  }

  noma::Method m;
  std::int32_t count, starts = 1, noises = 1;
  std::mt19937 random;
  std::normal_distribution<float> gauss;
  std::vector<cf32> h, sent, train_tx, train_rx, rx, start;
  float noise = 0.09f;
  std::vector<cf32> symbols;
  std::vector<float> llr, model, linear, gamma;
  std::vector<std::uint8_t> bits;
  std::int64_t events[4] = {-1, -1, -1, -1};
  std::int32_t counts[noma::kOutputs] = {-1, -1, -1, -1, -1, -1, -1};
  std::vector<std::byte> carry;
};

/// Root mean square of the difference, relative to that of what is expected.
inline double difference(const std::vector<float>& x, const Row& expected) {
  double square = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    square += expected[i] * expected[i];
    difference += std::pow(static_cast<double>(x[i]) - expected[i], 2);
  }
  return std::sqrt(difference) / (square > 0 ? std::sqrt(square) : 1);
}

inline void expect_near(double is, double expected, double relative, const char* what) {
  EXPECT_NEAR(is, expected, relative * std::max(std::abs(expected), 1e-6)) << what;
}

/// Expects results as defined, within the limits for float: 1e-4 of the model, 1e-3 of a symbol.
inline void compare(MultiuserFrames& f) {
  f.run();
  const noma::Method& m = f.m;
  for (int u = 0; u < m.users; ++u) {
    ApsmDefinition definition(m, u);
    for (std::int64_t i = 0; i < f.count; ++i) {
      SCOPED_TRACE("user " + std::to_string(u) + ", frame " + std::to_string(i));
      if (!m.online) definition = ApsmDefinition(m, u);
      const bool trained =
          definition.learn(f.train_rx.data() + i * m.pilots * m.antennas, f.train_tx.data() + i * m.pilots * m.users,
                           f.start.data(), f.h.data(), static_cast<double>(f.noise));
      ASSERT_TRUE(trained);
      EXPECT_LT(difference(f.of_frame(f.gamma, i, u), definition.gamma()), 1e-4);
      EXPECT_LT(difference(f.of_frame(f.linear, i, u), definition.c()), 1e-4);
      const auto value = [&](int which) { return static_cast<double>(f.value(i, u, which)); };
      expect_near(value(0), std::max(definition.mean_square(false), 1e-12), 1e-3, "noise");
      expect_near(value(1), std::sqrt(dot(definition.c(), definition.c())), 1e-4, "linear");
      expect_near(value(2), definition.gaussian_norm(), 1e-3, "gaussian");
      expect_near(value(3), std::sqrt(definition.mean_square(true)), 1e-3, "training_error");
      for (std::int64_t t = 0; t < m.data; ++t) {
        const cf32 z = f.symbol(i, u, t);
        EXPECT_LT(std::abs(std::complex<double>(z) - definition(f.rx.data() + (i * m.data + t) * m.antennas)), 1e-3);
      }
    }
  }
}

}  // namespace iqd::testing
