// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/carrier_sync/carrier_sync.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::carrier_sync {
namespace {

using testing::align;
using ::testing::HasSubstr;
using testing::PskSignal;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

/// Symbols, one sample each, with an offset and noise.
struct Symbols {
  PskSignal signal;
  std::vector<cf32> x;
};
Symbols symbols_of(int order, double offset, double snr_db, std::int64_t count = 20000) {
  Symbols s;
  s.signal.order = order;
  s.signal.first_turns = order == 4 ? 0.125 : 0;
  s.signal.count = count;
  std::mt19937 engine(7);
  std::normal_distribution<double> part(0, std::sqrt(std::pow(10, -snr_db / 10) / 2));
  std::int64_t n = 0;
  for (const int p : s.signal.points()) {
    const auto turn = std::polar(1.0, 2 * std::numbers::pi * offset * static_cast<double>(n++) + 0.4);
    s.x.emplace_back(s.signal.at(p) * turn + std::complex<double>(part(engine), part(engine)));
  }
  return s;
}

constexpr const char* kNames[] = {"", "", "bpsk", "", "qpsk", "", "", "", "8psk"};

TEST(CarrierSync, TakesOffsetsAway) {
  for (const int order : {2, 4, 8})
    for (const double offset : {-0.0099, -1e-3, 0.0, 1e-4, 0.0037, 0.0099}) {
      const Symbols s = symbols_of(order, offset, 20);
      const auto y = run_stage(entry(), fmt::format("{{modulation: {}}}", kNames[order]), s.x, 3000).of<cf32>("out");
      EXPECT_EQ(align(s.signal, y, 0, 0).errors, 0) << order << " " << offset;
    }
}

/// One rotation of the constellation for the whole stream: the phase never slips, not even between blocks.
TEST(CarrierSync, SlipsNotInALongStreamOfNoisySymbols) {
  const Symbols s = symbols_of(4, 0.0083, 8, 200000);
  const auto y = run_stage(entry(), "{modulation: qpsk}", s.x, 1000).of<cf32>("out");
  const auto a = align(s.signal, y, 200, 0);
  const double snr = std::pow(10, 0.8), theory = std::erfc(std::sqrt(snr / 2));  // of symbols, about
  EXPECT_LT(static_cast<double>(a.errors) / static_cast<double>(a.compared), 1.1 * theory);
}

/// The variance of the phase is near its bound, 1 / (2 N SNR), at high SNR.
TEST(CarrierSync, PhaseIsNearTheBound) {
  for (const int order : {2, 4, 8}) {
    const Symbols s = symbols_of(order, 0, 20, 60000);
    const auto e =
        run_stage(entry(), fmt::format("{{modulation: {}, max_offset: 0}}", kNames[order]), s.x).of<float>("estimates");
    double squares = 0, n = 0;
    for (std::size_t i = 6; i + 6 < e.size(); i += 3, n += 1) {
      const double turns = (static_cast<double>(e[i]) - 0.4) / (2 * std::numbers::pi) * order;
      const double error = (turns - std::round(turns)) / order * 2 * std::numbers::pi;
      squares += error * error;
    }
    const double bound = 1 / (2 * 128 * std::pow(10, 2));
    EXPECT_GT(squares / n, 0.8 * bound) << order;
    EXPECT_LT(squares / n, 1.5 * bound) << order;
  }
}

TEST(CarrierSync, SamplesBeforeTheirTimingIsKnown) {
  for (const double timing : {0.0, 0.125, 0.3, -0.4}) {
    PskSignal signal;
    signal.timing = timing;
    signal.clock = 0;
    signal.count = 8000;
    const auto y =
        run_stage(entry(), "{modulation: qpsk, samples_per_symbol: 4}", signal.samples(), 777).of<cf32>("out");
    std::vector<cf32> symbols;
    const double first = timing * 4;
    for (std::int64_t k = 2; k < 7900; ++k) {  // linear interpolation is good enough to decide
      const double at = first + 4.0 * static_cast<double>(k);
      const auto n = static_cast<std::size_t>(at);
      const auto part = static_cast<float>(at - std::floor(at));
      symbols.push_back(y[n] + part * (y[n + 1] - y[n]));
    }
    EXPECT_EQ(align(signal, symbols).errors, 0) << timing;
  }
}

TEST(CarrierSync, SixteenQam) {
  std::mt19937 engine(3);
  std::vector<cf32> x, sent;
  for (int n = 0; n < 20000; ++n) {
    const double re = 2.0 * static_cast<int>(engine() % 4) - 3, im = 2.0 * static_cast<int>(engine() % 4) - 3;
    sent.emplace_back(static_cast<float>(re / std::sqrt(10.0)), static_cast<float>(im / std::sqrt(10.0)));
    x.push_back(sent.back() * cf32(std::polar(1.0, 0.001 * n + 0.2)));
  }
  const auto y = run_stage(entry(), "{modulation: 16qam, window: 512, max_offset: 0.001}", x, 1000).of<cf32>("out");
  const cf32 turn = std::round((y[5000] / sent[5000]).real()) != 0 ? cf32(std::round((y[5000] / sent[5000]).real()), 0)
                                                                   : cf32(0, std::round((y[5000] / sent[5000]).imag()));
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_LT(std::abs(y[i] - turn * sent[i]), 0.2f) << i;
}

TEST(CarrierSync, HowTheStreamIsCutDoesNotMatter) {
  PskSignal signal;
  signal.offset = 2e-3;
  const auto x = signal.samples();
  for (const char* keys :
       {"{samples_per_symbol: 4}", "{modulation: bpsk, samples_per_symbol: 3.3, window: 33}", "{max_offset: 0.125}"}) {
    const StageOutputs whole = run_stage(entry(), keys, x);
    for (const std::int64_t block : {1, 7, 255, 256, 257, 5000}) {
      const StageOutputs cut = run_stage(entry(), keys, x, block);
      EXPECT_TRUE(same_bits(cut.of<cf32>("out"), whole.of<cf32>("out"))) << keys << " " << block;
      EXPECT_TRUE(same_bits(cut.of<float>("estimates"), whole.of<float>("estimates"))) << keys << " " << block;
    }
  }
}

TEST(CarrierSync, SaysTheOffset) {
  const auto e = run_stage(entry(), "{}", symbols_of(4, 0.0037, 20).x).of<float>("estimates");
  for (std::size_t i = 3; i + 3 < e.size(); i += 3) {
    EXPECT_NEAR(e[i + 1], 0.0037f, 2e-4f) << i;
    EXPECT_GT(e[i + 2], 0.8f) << i;
  }
}

TEST(CarrierSync, ATurnIsAllThatHappensToASample) {
  const auto x = testing::complex_noise(3000);
  const auto y = run_stage(entry(), "{}", x).of<cf32>("out");
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(std::abs(y[i]), std::abs(x[i]), 1e-6f) << i;
}

TEST(CarrierSync, NanStaysWhereItIs) {
  const Symbols s = symbols_of(4, 0.003, 20, 4000);
  auto x = s.x;
  x[1000] = {std::numeric_limits<float>::quiet_NaN(), 0};
  const auto clean = run_stage(entry(), "{}", s.x).of<cf32>("out"),
             y = run_stage(entry(), "{}", x, 500).of<cf32>("out");
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i == 1000)
      EXPECT_TRUE(std::isnan(y[i].real()));
    else
      EXPECT_LT(std::abs(y[i] - clean[i]), 0.05f) << i;
  }
}

TEST(CarrierSync, SilenceStaysSilent) {
  EXPECT_THAT(run_stage(entry(), "{}", std::vector<cf32>(3000), 100).of<cf32>("out"), ::testing::Each(cf32(0)));
}

TEST(CarrierSync, RefusesWhatCannotBe) {
  const auto complaints = [](const char* keys) { return run_stage(entry(), keys, {1, 2}).complaints(); };
  EXPECT_THAT(complaints("{modulation: 8psk, max_offset: 0.07}"), HasSubstr("max_offset: has to be at most 0.0625"));
  EXPECT_THAT(complaints("{samples_per_symbol: 2}"), HasSubstr("has to be 1, or 3 or more"));
  EXPECT_THAT(complaints("{window: 60000}"), HasSubstr("too long to search"));
  EXPECT_EQ(complaints("{window: 60000, max_offset: 0}"), "");
}

}  // namespace
}  // namespace iqd::carrier_sync
