// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/psk_demapper/psk_demapper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "signal/formats/symbol_map.hpp"
#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::psk_demapper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;
using Bits = std::vector<std::uint8_t>;

/// Bits of a symbol's number, the most significant first.
Bits bits_of_number(unsigned number, int bits) {
  Bits all;
  for (int b = bits - 1; b >= 0; --b) all.push_back(static_cast<std::uint8_t>(number >> b & 1));
  return all;
}

TEST(PskDemapper, EachPointGivesItsBits) {
  const std::pair<const char*, SymbolMap> maps[] = {{"bpsk", SymbolMap::bpsk},
                                                    {"qpsk", SymbolMap::qpsk},
                                                    {"16qam", SymbolMap::qam16},
                                                    {"64qam", SymbolMap::qam64},
                                                    {"256qam", SymbolMap::qam256}};
  for (const auto& [name, map] : maps) {
    std::vector<cf32> points;
    Bits expected;
    for (unsigned number = 0; number < 1u << bits_of(map); ++number) {
      points.push_back(point_of(map, number));
      for (const auto bit : bits_of_number(number, bits_of(map))) expected.push_back(bit);
    }
    EXPECT_EQ(run_stage(entry(), std::string("{modulation: ") + name + "}", points).of<std::uint8_t>("bits"), expected)
        << name;
  }
}

TEST(PskDemapper, EightPhasesAreGray) {
  std::vector<cf32> points;
  for (int k = 0; k < 8; ++k) points.push_back(cf32(std::polar(1.0, std::numbers::pi / 4 * k)));
  const Bits bits = run_stage(entry(), "{modulation: 8psk}", points).of<std::uint8_t>("bits");
  for (unsigned k = 0; k < 8; ++k)
    EXPECT_EQ(Bits(bits.begin() + 3 * k, bits.begin() + 3 * k + 3), bits_of_number(k ^ (k >> 1), 3)) << k;
}

/// For QPSK the definition is linear: points are 1 / sqrt(2) off the axes, so 4 x / sqrt(2) / noise.
TEST(PskDemapper, LlrIsPositiveForBitZero) {
  const auto llr = run_stage(entry(), "{noise: 0.5}", {cf32(0.3f, -1.2f)}).of<float>("llr");
  EXPECT_NEAR(llr[0], 4 * 0.3 / std::sqrt(2.0) / 0.5, 1e-5);
  EXPECT_NEAR(llr[1], -4 * 1.2 / std::sqrt(2.0) / 0.5, 1e-5);
}

/// The definition, over all points.
TEST(PskDemapper, LlrsAreThoseOfTheDefinition) {
  const auto symbols = testing::complex_noise(300);
  const auto llr = run_stage(entry(), "{modulation: 64qam, noise: 0.2}", symbols).of<float>("llr");
  for (std::size_t i = 0; i < symbols.size(); ++i)
    for (int bit = 0; bit < 6; ++bit) {
      double least[2] = {1e9, 1e9};
      for (unsigned number = 0; number < 64; ++number) {
        double& l = least[number >> (5 - bit) & 1];
        l = std::min(
            l, std::norm(std::complex<double>(symbols[i]) - std::complex<double>(point_of(SymbolMap::qam64, number))));
      }
      ASSERT_NEAR(llr[i * 6 + static_cast<std::size_t>(bit)], (least[1] - least[0]) / 0.2, 2e-5) << i << " " << bit;
    }
}

TEST(PskDemapper, StepsOfDifferentialQpsk) {
  // By 0, +90, 180 and -90 degrees.
  const cf32 a = point_of(SymbolMap::qpsk, 0), j(0, 1);
  const std::vector<cf32> symbols{a, a, a * j, -a * j, -a};  // -a j to -a is -90
  EXPECT_THAT(run_stage(entry(), "{differential: true}", symbols).of<std::uint8_t>("bits"),
              ElementsAre(0, 0, 0, 1, 1, 1, 1, 0));
}

TEST(PskDemapper, ATurnOfTheConstellationDoesNotMatterToSteps) {
  for (const auto& [name, order] : {std::pair{"bpsk", 2}, std::pair{"qpsk", 4}, std::pair{"8psk", 8}}) {
    auto symbols = testing::complex_noise(500);
    const std::string keys = std::string("{differential: true, modulation: ") + name + "}";
    const StageOutputs plain = run_stage(entry(), keys, symbols);
    for (cf32& y : symbols) y *= cf32(std::polar(1.0, 2 * std::numbers::pi / order));
    EXPECT_EQ(run_stage(entry(), keys, symbols).of<std::uint8_t>("bits"), plain.of<std::uint8_t>("bits")) << name;
  }
}

TEST(PskDemapper, PacketsAreTheBitsOneBehindTheOther) {
  const auto symbols = testing::complex_noise(1000);
  const StageOutputs whole = run_stage(entry(), "{packet: 77}", symbols);
  const Bits bits = whole.of<std::uint8_t>("bits"), packets = whole.of<std::uint8_t>("packets");
  EXPECT_EQ(packets.size(), 2000u / 77 * 77);
  EXPECT_EQ(packets, Bits(bits.begin(), bits.begin() + std::ssize(packets)));
}

TEST(PskDemapper, HowTheStreamIsCutDoesNotMatter) {
  const auto symbols = testing::complex_noise(1000);
  for (const char* keys : {"{packet: 77}", "{packet: 1}", "{differential: true, packet: 301}"})
    for (const Axis axis : {Axis::stream, Axis::counted}) {
      const StageOutputs whole = run_stage(entry(), keys, symbols, 0, 1, axis);
      for (const std::int64_t block : {1, 3, 64, 500}) {
        const StageOutputs cut = run_stage(entry(), keys, symbols, block, 1, axis);
        EXPECT_EQ(cut.of<std::uint8_t>("packets"), whole.of<std::uint8_t>("packets")) << keys << block;
        EXPECT_TRUE(same_bits(cut.of<float>("llr"), whole.of<float>("llr"))) << keys << block;
      }
    }
}

TEST(PskDemapper, WhatIsNotFiniteIsMarked) {
  std::vector<cf32> symbols(5, point_of(SymbolMap::qpsk, 3));
  symbols[2] = {std::numeric_limits<float>::quiet_NaN(), 1};
  for (const bool differential : {false, true}) {
    const auto out = run_stage(entry(), differential ? "{differential: true}" : "{}", symbols);
    const auto llr = out.of<float>("llr");
    for (std::size_t i = 0; i < llr.size(); ++i) {
      const std::size_t symbol = i / 2;
      const bool spoilt = differential ? symbol == 1 || symbol == 2 : symbol == 2;
      EXPECT_EQ(std::isnan(llr[i]), spoilt) << i;
      EXPECT_TRUE(!spoilt || out.of<std::uint8_t>("bits")[i] == 0) << i;
    }
  }
}

TEST(PskDemapper, RefusesWhatCannotBe) {
  const auto complaints = [](const char* keys) { return run_stage(entry(), keys, {1, 2}).complaints(); };
  EXPECT_THAT(complaints("{modulation: 16qam, differential: true}"), HasSubstr("differential: is only for bpsk"));
  EXPECT_THAT(complaints("{noise: 0}"), HasSubstr("noise: has to be above 0"));
  EXPECT_THAT(complaints("{packet: 0}"), HasSubstr("packet"));
}

}  // namespace
}  // namespace iqd::psk_demapper
