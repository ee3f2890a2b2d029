// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "tests/support/multiuser_frames.hpp"

namespace iqd::noma {
namespace {

using testing::compare;
using testing::method_of;
using testing::MultiuserFrames;
using testing::size_of;

TEST(ApsmEngine, IsAsDefinedForAllNumbersOfAntennasAndUsers) {
  for (const auto& [antennas, users] : {std::pair(3, 1), {4, 6}, {5, 2}, {8, 9}, {17, 3}, {2, 17}}) {
    SCOPED_TRACE(std::to_string(antennas) + " antennas, " + std::to_string(users) + " users");
    MultiuserFrames f(method_of(antennas, users, 40, 20), 1);
    compare(f);
    EXPECT_EQ(f.events[kFrames], 1);
    EXPECT_EQ(f.events[kUntrained] + f.events[kPilotsLeftOut] + f.events[kErased], 0);
    for (const Output o : {kSymbols, kLlr, kBits, kModel, kLinear, kGamma, kTally}) EXPECT_EQ(f.counts[o], 1) << o;
  }
}

TEST(ApsmEngine, FewerPilotsThanTheWindow) {
  for (const std::int64_t pilots : {1, 2, 19, 20, 21}) {
    SCOPED_TRACE(pilots);
    Method m = method_of(4, 3, pilots, 70);
    m.start = Start::zero;
    MultiuserFrames f(m, 2);
    compare(f);
  }
}

TEST(ApsmEngine, PassesWeightsAndWindows) {
  Method m = method_of(5, 3, 50, 10);
  m.start = Start::zero;
  for (const int passes : {2, 3})
    for (const int window : {1, 7}) {
      m.passes = passes;
      m.window = window;
      MultiuserFrames f(m, 1);
      compare(f);
    }
  m.passes = 1;
  for (const auto& [linear, gaussian] : {std::pair(1.0f, 0.0f), {0.0f, 1.0f}, {0.2f, 0.7f}}) {
    m.linear = linear;
    m.gaussian = gaussian;
    MultiuserFrames f(m, 1);
    compare(f);
  }
}

TEST(ApsmEngine, WeightsOfAWindow) {
  Method m = method_of(4, 2, 45, 10);
  for (std::size_t k = 0; k < m.weight.size(); ++k) m.weight[k] = 3 / static_cast<float>(1 + k);
  m.weight[2] = 0;
  MultiuserFrames f(m, 1);
  compare(f);
}

TEST(ApsmEngine, SharperKernelsAndNoScale) {
  Method m = method_of(6, 3, 60, 10);
  m.start = Start::zero;
  m.agc = false;
  for (const float variance : {0.05f, 0.6f, 1.8f}) {
    m.exponent = 1 / (2 * variance);
    MultiuserFrames f(m, 1);
    compare(f);
  }
}

TEST(ApsmEngine, FewerKernelsThanPilots) {
  for (const std::int64_t kernels : {0, 1, 17, 35}) {
    Method m = method_of(4, 3, 40, 10);
    m.kernels = kernels;
    m.passes = 2;
    MultiuserFrames f(m, 1);
    compare(f);
    const std::vector<float> gamma = f.of_frame(f.gamma, 0, 1);
    for (std::size_t row = 0; row < gamma.size(); ++row) EXPECT_EQ(gamma[row] != 0, row >= size_of(2 * (40 - kernels)));
  }
}

TEST(ApsmEngine, OnlineTheModelGoesOnFromFrameToFrame) {
  for (const std::int64_t old : {0, 10, 24, 60}) {
    SCOPED_TRACE(old);
    Method m = method_of(4, 3, 24, 10);
    m.online = true;
    m.dictionary += old;
    MultiuserFrames f(m, 4);
    compare(f);
  }
}

TEST(ApsmEngine, OnlineBlocksMayBeCutAnywhere) {
  Method m = method_of(4, 3, 24, 10);
  m.online = true;
  m.dictionary += 30;
  MultiuserFrames whole(m, 3);
  whole.run();
  MultiuserFrames one = whole;
  one.count = 1;
  one.allocate();
  for (std::int64_t i = 0; i < 3; ++i) {
    Job job = one.job();
    job.train_rx += i * m.pilots * m.antennas;
    job.train_tx += i * m.pilots * m.users;
    job.rx += i * m.data * m.antennas;
    one.run(job, i == 0);
    for (int u = 0; u < m.users; ++u) {
      EXPECT_EQ(one.of_frame(one.symbols, 0, u), whole.of_frame(whole.symbols, i, u));
      EXPECT_EQ(one.of_frame(one.gamma, 0, u), whole.of_frame(whole.gamma, i, u));
      EXPECT_EQ(one.of_frame(one.model, 0, u), whole.of_frame(whole.model, i, u));
    }
  }
}

TEST(ApsmEngine, OnlineAFrameWithoutPilotsChangesNothing) {
  Method m = method_of(4, 2, 24, 10);
  m.online = true;
  m.dictionary += 24;
  MultiuserFrames f(m, 3);
  MultiuserFrames without = f;
  std::fill_n(f.train_rx.begin() + 24 * 4, 24 * 4, cf32(testing::kNotANumber));
  f.run();
  const auto drop = [](std::vector<cf32>& list) {
    const auto third = static_cast<std::ptrdiff_t>(list.size() / 3);
    list.erase(list.begin() + third, list.begin() + 2 * third);
  };
  drop(without.train_rx), drop(without.train_tx), drop(without.rx);
  without.count = 2;
  without.run();
  for (int u = 0; u < 2; ++u) {
    EXPECT_EQ(f.of_frame(f.symbols, 2, u), without.of_frame(without.symbols, 1, u));
    EXPECT_EQ(f.of_frame(f.linear, 1, u), f.of_frame(f.linear, 0, u));
    EXPECT_EQ(f.of_frame(f.symbols, 1, u), std::vector<cf32>(10));
    const std::vector<float> before = f.of_frame(f.gamma, 0, u), gamma = f.of_frame(f.gamma, 1, u);
    EXPECT_TRUE(std::equal(before.begin() + 48, before.end(), gamma.begin()));
    EXPECT_TRUE(std::all_of(gamma.begin() + 48, gamma.end(), [](float x) { return x == 0; }));
  }
  EXPECT_EQ(f.events[kUntrained], 1);
  EXPECT_EQ(f.events[kErased], 10);
}

TEST(ApsmEngine, StartsFromAFilterThatIsHandedIn) {
  Method m = method_of(4, 3, 40, 10);
  m.start = Start::port;
  MultiuserFrames f(m, 1);
  for (int i = 0; i < 12; ++i) f.start.push_back(0.3f * f.normal());
  compare(f);
}

TEST(ApsmEngine, OneStartServesSeveralFrames) {
  Method m = method_of(3, 2, 8, 4);
  m.start = Start::port;
  m.passes = 0;
  m.linear = 1;
  m.gaussian = 0;
  m.agc = false;
  MultiuserFrames f(m, 4);
  f.starts = 2;
  for (int i = 0; i < 12; ++i) f.start.push_back(f.normal());
  f.run();
  for (std::int64_t i = 0; i < 4; ++i)
    for (int u = 0; u < 2; ++u)
      for (std::int64_t t = 0; t < 4; ++t) {
        std::complex<double> z = 0;
        for (std::int64_t a = 0; a < 3; ++a)
          z += std::conj(std::complex<double>(f.start[size_of((i / 2 * 2 + u) * 3 + a)])) *
               std::complex<double>(f.rx[size_of((i * 4 + t) * 3 + a)]);
        EXPECT_LT(std::abs(z - std::complex<double>(f.symbol(i, u, t))), 1e-5);
      }
  f.starts = 3;
  f.run();
  EXPECT_EQ(f.counts[kSymbols], 0);
  EXPECT_EQ(f.counts[kTally], 1);
  EXPECT_EQ(f.events[kFrames], 0);
}

TEST(ApsmEngine, LinearDetectorsAreStartsWithoutTraining) {
  for (const Start start : {Start::lls, Start::genie})
    for (const int antennas : {2, 4, 9}) {
      Method m = method_of(antennas, 3, 30, 10);
      m.start = start;
      m.passes = 0;
      m.linear = 1;
      m.gaussian = 0;
      MultiuserFrames f(m, 2);
      compare(f);
      for (const float gamma : f.gamma) EXPECT_EQ(gamma, 0);
    }
}

TEST(ApsmEngine, TheGenieKnowsNoNoise) {
  Method m = method_of(4, 2, 10, 50);
  m.start = Start::genie;
  m.passes = 0;
  m.linear = 1;
  m.gaussian = 0;
  MultiuserFrames f(m, 1);
  f.noise = 0;
  for (std::size_t t = 0; t < 50; ++t)
    for (std::size_t a = 0; a < 4; ++a)
      f.rx[t * 4 + a] = f.h[a * 2] * f.sent[t * 2] + f.h[a * 2 + 1] * f.sent[t * 2 + 1];
  f.run();
  for (std::int64_t t = 0; t < 50; ++t)
    for (int u = 0; u < 2; ++u) EXPECT_LT(std::abs(f.symbol(0, u, t) - f.sent[size_of(t * 2 + u)]), 1e-4f);
}

}  // namespace
}  // namespace iqd::noma
