// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tests/support/multiuser_frames.hpp"

namespace iqd::noma {
namespace {

using testing::compare;
using testing::method_of;
using testing::MultiuserFrames;
using testing::size_of;

constexpr float kNan = testing::kNotANumber;

TEST(ApsmEngineEdges, LeftOutPilotsKeepTheirPlaceAlone) {
  Method m = method_of(4, 2, 40, 10);
  m.start = Start::zero;
  MultiuserFrames f(m, 1);
  f.train_rx[5 * 4 + 1] = {0, kNan};
  f.train_tx[17 * 2 + 1] = {std::numeric_limits<float>::infinity(), 0};
  std::fill_n(f.train_rx.begin() + 30 * 4, 4, cf32(0));  // received as 0; its kernels still learn
  compare(f);
  EXPECT_EQ(f.events[kPilotsLeftOut], 2);
  const std::vector<float> gamma = f.of_frame(f.gamma, 0, 0);
  for (const std::size_t t : {5, 17}) EXPECT_EQ(gamma[2 * t], 0);
  EXPECT_NE(gamma[2 * 30], 0);
}

TEST(ApsmEngineEdges, AntennasThatAreNotInUseDoNotCount) {
  Method m = method_of(6, 2, 40, 10);
  MultiuserFrames f(m, 1);
  MultiuserFrames four = f;
  f.m.used[1] = f.m.used[4] = false;
  f.m.used_count = 4;
  for (std::size_t t = 0; t < 40; ++t) f.train_rx[t * 6 + 1] = f.train_rx[t * 6 + 4] = kNan;
  for (std::size_t t = 0; t < 10; ++t) f.rx[t * 6 + 1] = f.rx[t * 6 + 4] = kNan;
  compare(f);
  EXPECT_EQ(f.events[kErased] + f.events[kPilotsLeftOut], 0);
  four.m = method_of(4, 2, 40, 10);
  four.m.exponent = m.exponent;
  const auto remove = [](std::vector<cf32>& list) {
    std::vector<cf32> left;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (i % 6 != 1 && i % 6 != 4) left.push_back(list[i]);
    list = left;
  };
  remove(four.train_rx), remove(four.rx);
  four.run();
  EXPECT_EQ(f.symbols, four.symbols);
}

TEST(ApsmEngineEdges, ADeadAntennaDoesNoHarm) {
  for (const Start start : {Start::zero, Start::lls}) {
    Method m = method_of(4, 2, 40, 20);
    m.start = start;
    MultiuserFrames f(m, 1);
    for (std::size_t t = 0; t < 40; ++t) f.train_rx[t * 4 + 2] = 0;
    for (std::size_t t = 0; t < 20; ++t) f.rx[t * 4 + 2] = 0;
    compare(f);
  }
}

TEST(ApsmEngineEdges, AVectorThatIsNotFiniteIsErased) {
  MultiuserFrames f(method_of(4, 2, 40, 10), 1);
  f.rx[3 * 4 + 1] = {0, std::numeric_limits<float>::infinity()};
  const MultiuserFrames before = f;
  f.run();
  EXPECT_EQ(f.events[kErased], 1);
  for (int u = 0; u < 2; ++u)
    for (std::int64_t t = 0; t < 10; ++t) {
      EXPECT_EQ(f.symbol(0, u, t) == cf32(0), t == 3);
      for (std::int64_t b = 0; b < 2; ++b) EXPECT_EQ(f.llr[size_of((u * 10 + t) * 2 + b)] == 0, t == 3);
    }
  for (const std::uint8_t bit : f.bits) EXPECT_LE(bit, 1);
}

TEST(ApsmEngineEdges, HugeNumbersBecomeNoNan) {
  for (const float huge : {1e18f, 1e25f, 1e38f})
    for (const bool agc : {true, false}) {
      Method m = method_of(4, 2, 12, 6);
      m.agc = agc;
      MultiuserFrames f(m, 2);
      f.train_tx[3] = f.train_rx[5] = f.rx[7] = {huge, -huge};
      f.run();
      for (const cf32 z : f.symbols) EXPECT_TRUE(std::isfinite(std::abs(z)));
      for (const auto* list : {&f.llr, &f.model, &f.linear, &f.gamma})
        for (const float x : *list) EXPECT_TRUE(std::isfinite(x)) << huge;
    }
}

void expect_untrained(MultiuserFrames& f) {
  f.run();
  EXPECT_EQ(f.events[kUntrained], 1);
  EXPECT_EQ(f.events[kErased], f.m.data);
  EXPECT_EQ(f.symbols, std::vector<cf32>(f.symbols.size()));
  EXPECT_EQ(f.bits, std::vector<std::uint8_t>(f.bits.size()));
  for (const auto* list : {&f.llr, &f.model, &f.linear, &f.gamma}) EXPECT_EQ(*list, std::vector<float>(list->size()));
}

TEST(ApsmEngineEdges, WithoutPilotsAFrameIsUntrained) {
  const MultiuserFrames good(method_of(4, 2, 12, 6), 1);
  MultiuserFrames silent = good;
  std::fill(silent.train_rx.begin(), silent.train_rx.end(), cf32(0));
  expect_untrained(silent);
  MultiuserFrames unknown = good;
  for (std::size_t t = 0; t < 12; ++t) unknown.train_tx[t * 2] = kNan;
  expect_untrained(unknown);
  EXPECT_EQ(unknown.events[kPilotsLeftOut], 12);
  MultiuserFrames channel = good;
  channel.m.start = Start::genie;
  channel.h[3] = kNan;
  expect_untrained(channel);
  MultiuserFrames noise = good;
  noise.m.start = Start::genie;
  noise.noise = kNan;
  expect_untrained(noise);
}

TEST(ApsmEngineEdges, OnlineAModelThatOverflowsIsForgotten) {
  Method m = method_of(4, 2, 24, 6);
  m.online = true;
  m.dictionary += 24;
  MultiuserFrames f(m, 3);
  f.train_tx[24 * 2 + 5] = std::numeric_limits<float>::max();
  MultiuserFrames last = f;
  f.run();
  EXPECT_EQ(f.events[kUntrained], 1);
  last.train_rx.erase(last.train_rx.begin(), last.train_rx.begin() + 2 * 24 * 4);
  last.train_tx.erase(last.train_tx.begin(), last.train_tx.begin() + 2 * 24 * 2);
  last.rx.erase(last.rx.begin(), last.rx.begin() + 2 * 6 * 4);
  last.count = 1;
  last.run();
  for (int u = 0; u < 2; ++u) {
    EXPECT_EQ(f.of_frame(f.linear, 1, u), std::vector<float>(8));
    EXPECT_EQ(f.of_frame(f.gamma, 1, u), std::vector<float>(2 * 48));
    EXPECT_EQ(f.of_frame(f.symbols, 2, u), last.of_frame(last.symbols, 0, u));
  }
}

TEST(ApsmEngineEdges, TheGainDoesNotMatter) {
  for (const SymbolMap map : {SymbolMap::bpsk, SymbolMap::qam16}) {
    Method m = method_of(5, 3, 60, 80);
    m.map = map;
    MultiuserFrames f(m, 1);
    f.run();
    for (const float gain : {1e-3f, 1e3f}) {
      MultiuserFrames scaled = f;
      for (auto* list : {&scaled.train_rx, &scaled.rx})
        for (cf32& x : *list) x *= gain;
      scaled.run();
      EXPECT_EQ(scaled.bits, f.bits);
    }
  }
}

TEST(ApsmEngineEdges, LlrsAndBitsOfAllMaps) {
  for (const SymbolMap map :
       {SymbolMap::bpsk, SymbolMap::qpsk, SymbolMap::qam16, SymbolMap::qam64, SymbolMap::qam256}) {
    Method m = method_of(6, 2, 60, 40);
    m.map = map;
    MultiuserFrames f(m, 1);
    f.run();
    const int bits = m.bits();
    for (int u = 0; u < 2; ++u)
      for (std::int64_t t = 0; t < 40; ++t) {
        const std::complex<double> z(f.symbol(0, u, t));
        for (int b = 0; b < bits; ++b) {
          double least[2] = {1e9, 1e9};
          for (unsigned s = 0; s < 1u << bits; ++s) {
            double& d = least[s >> (bits - 1 - b) & 1];
            d = std::min(d, std::norm(z - std::complex<double>(point_of(map, s))));
          }
          const double llr = (least[1] - least[0]) / static_cast<double>(f.value(0, u, 0));
          const std::size_t at = size_of((u * 40 + t) * bits + b);
          EXPECT_NEAR(static_cast<double>(f.llr[at]), llr, 1e-4 * (1 + std::abs(llr)));
          EXPECT_EQ(f.bits[at], f.llr[at] < 0);
        }
      }
  }
}

TEST(ApsmEngineEdges, FormsOfLlrs) {
  MultiuserFrames f(method_of(4, 2, 40, 30), 1);
  f.run();
  f.m.llr_scale = 0.5f;
  const auto as = [&f](LlrForm form, auto& list) {
    f.m.form = form;
    list.resize(f.llr.size());
    Job job = f.job();
    job.llr = list.data();
    f.run(job);
  };
  std::vector<f16> half;
  std::vector<std::int8_t> small;
  const std::vector<float> full = f.llr;
  as(LlrForm::f16, half);
  as(LlrForm::i8, small);
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(half[i], to_f16(full[i]));
    EXPECT_EQ(small[i], static_cast<int>(std::clamp(std::nearbyint(full[i] / 0.5f), -127.0f, 127.0f)));
  }
}

TEST(ApsmEngineEdges, EveryOutputMayBeLeftOut) {
  MultiuserFrames all(method_of(4, 2, 30, 70), 2);
  all.run();
  for (int left_out = 0; left_out < 6; ++left_out) {
    MultiuserFrames f = all;
    f.allocate();
    Job job = f.job();
    if (left_out == kSymbols) job.symbols = nullptr;
    if (left_out == kLlr) job.llr = nullptr;
    if (left_out == kBits) job.bits = nullptr;
    if (left_out == kModel) job.model = nullptr;
    if (left_out == kLinear) job.linear = nullptr;
    if (left_out == kGamma) job.gamma = nullptr;
    f.run(job);
    EXPECT_EQ(f.symbols == all.symbols, left_out != kSymbols);
    EXPECT_EQ(f.llr == all.llr, left_out != kLlr);
    EXPECT_EQ(f.bits == all.bits, left_out != kBits);
    EXPECT_EQ(f.model == all.model, left_out != kModel);
    EXPECT_EQ(f.linear == all.linear, left_out != kLinear);
    EXPECT_EQ(f.gamma == all.gamma, left_out != kGamma);
    for (const Output o : {kSymbols, kLlr, kBits, kModel, kLinear, kGamma}) EXPECT_EQ(f.counts[o], 2);
  }
}

TEST(ApsmEngineEdges, NoFrames) {
  MultiuserFrames f(method_of(4, 2, 30, 10), 2);
  f.count = 0;
  f.run();
  for (const Output o : {kSymbols, kLlr, kBits, kModel, kLinear, kGamma}) EXPECT_EQ(f.counts[o], 0);
  EXPECT_EQ(f.counts[kTally], 1);
  for (const std::int64_t n : f.events) EXPECT_EQ(n, 0);
}

}  // namespace
}  // namespace iqd::noma
