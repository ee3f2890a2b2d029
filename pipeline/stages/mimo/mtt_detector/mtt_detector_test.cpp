// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/detector_edges.hpp"
#include "tests/support/mtt_definition.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::mtt_detector {
namespace {

using testing::constellation;
using testing::Detected;
using testing::DetectorUnderTest;
using testing::exhaustive;
using testing::MttDefinition;
using testing::random_transmission;
using testing::same_bits;
using testing::Transmission;

std::string word_of(int bits) {
  return bits == 0 ? "silent" : bits == 2 ? "qpsk" : std::to_string(1 << bits) + "qam";
}
std::string keys(int bits, const std::string& others = "") {
  return "{modulation: " + word_of(bits) + others + "}";
}
std::string keys(const Transmission& x, const std::string& others) {
  if (x.sent.empty()) return keys(x.bits, others);
  std::string all;
  for (const int bits : x.sent) all += (all.empty() ? "[" : ", ") + word_of(bits);
  return "{modulation: " + all + "]" + others + "}";
}
Detected detect(const Transmission& x, const std::string& others = "") {
  DetectorUnderTest detector(entry(), keys(x, others), x.rx, x.tx, x.prior.empty() ? 0 : x.bits);
  EXPECT_EQ(detector.complaints(), "");
  return detector.run(x);
}

/// Within the limits of single precision: 1e-3 of an LLR, or of 1 if the LLR is smaller.
void expect_near(const std::vector<float>& got, const std::vector<double>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 1e-3 * std::max(1.0, std::abs(wanted[i]))) << what << ", " << i;
    ASSERT_TRUE(std::abs(wanted[i]) <= 1e-2 || (got[i] < 0) == (wanted[i] < 0)) << what << ", " << i;
  }
}
void expect_as_defined(const Transmission& x, const std::string& others = "") {
  const Detected got = detect(x, others);
  const bool pooled = others.find("pooled") != others.npos;
  std::vector<double> llrs;
  for (std::int64_t v = 0; v < x.vectors(); ++v) {
    MttDefinition definition(x, v);
    for (const double llr : definition.llrs(pooled)) llrs.push_back(llr);
    const double distance = definition.distance();
    ASSERT_NEAR(got.distance[static_cast<std::size_t>(v)], distance, 1e-4 * std::max(1.0, distance)) << others << v;
  }
  expect_near(got.llr, llrs, keys(x.bits, others) + std::to_string(x.rx) + "x" + std::to_string(x.tx));
  for (std::size_t i = 0; i < llrs.size(); ++i)
    ASSERT_EQ(got.bits[i], got.llr[i] != 0 && got.llr[i] + (x.prior.empty() ? 0 : mimo::usable_prior(x.prior[i])) < 0);
}

TEST(MttDetector, DoesWhatAllDetectorsDo) {
  testing::expect_detector_manners(entry());
}

TEST(MttDetector, AgreesWithItsDefinition) {
  struct Case {
    int rx, tx, bits, vectors;
    double noise;
  };
  for (const auto [rx, tx, bits, vectors, noise] :
       {Case{4, 4, 2, 100, 0.4}, Case{4, 4, 4, 60, 0.06}, Case{4, 4, 6, 17, 0.02}, Case{4, 4, 8, 2, 0.01},
        Case{1, 1, 4, 20, 0.1}, Case{4, 2, 4, 40, 0.1}, Case{8, 4, 2, 50, 1}, Case{8, 8, 4, 20, 0.1},
        Case{3, 3, 2, 50, 1e-6}, Case{5, 3, 4, 33, 0.1}})
    for (const char* const others : {"", ", lists: pooled", ", variant: paper", ", lists: pooled, variant: paper"})
      expect_as_defined(random_transmission(rx, tx, bits, vectors, noise), others);
}

TEST(MttDetector, WithAPriorItAgreesWithItsDefinition) {
  struct Case {
    int rx, tx, bits, vectors;
    double noise, strength;
  };
  for (const auto [rx, tx, bits, vectors, noise, strength] :
       {Case{4, 4, 2, 100, 0.4, 2}, Case{4, 4, 4, 60, 0.06, 4}, Case{4, 4, 6, 17, 0.02, 1}, Case{4, 4, 8, 2, 0.01, 2},
        Case{1, 1, 4, 20, 0.1, 3}, Case{4, 2, 4, 40, 0.1, 15}, Case{8, 8, 4, 20, 0.1, 2}, Case{5, 3, 4, 33, 0.1, 6}})
    for (const char* const others : {"", ", lists: pooled", ", variant: paper"}) {
      auto x = random_transmission(rx, tx, bits, vectors, noise);
      testing::add_prior(x, strength);
      expect_as_defined(x, others);
    }
}

TEST(MttDetector, MixedAlphabetsAgreeWithTheDefinition) {
  struct Case {
    int rx;
    std::vector<int> sent;
    int vectors;
    double noise;
  };
  for (const auto& [rx, sent, vectors, noise] :
       {Case{4, {4, 4, 2, 2}, 60, 0.06}, Case{4, {2, 6, 4, 2}, 20, 0.02}, Case{4, {6, 6, 6, 2}, 17, 0.02},
        Case{4, {8, 2, 4, 6}, 2, 0.01}, Case{4, {4, 0, 2, 4}, 40, 0.1}, Case{8, {4, 2, 4, 2, 2, 4, 2, 4}, 20, 0.3},
        Case{5, {2, 6, 2}, 33, 0.1}})
    for (const double strength : {0, 3})
      for (const char* const others : {"", ", lists: pooled", ", variant: paper"}) {
        auto x = testing::mixed_transmission(rx, sent, vectors, noise);
        if (strength > 0) testing::add_prior(x, strength);
        expect_as_defined(x, others);
      }
}

void expect_exact(const Transmission& x) {
  std::vector<double> llrs;
  for (std::int64_t v = 0; v < x.vectors(); ++v)
    for (const double llr : exhaustive(x, v)) llrs.push_back(llr);
  expect_near(detect(x).llr, llrs, "own");
  expect_near(detect(x, ", lists: pooled").llr, llrs, "pooled");
}

TEST(MttDetector, TwoAntennasWithMixedAlphabetsAreExact) {
  for (const std::vector<int>& sent : {std::vector{4, 2}, {2, 6}, {6, 4}, {8, 2}, {0, 4}})
    for (const double strength : {0, 3}) {
      auto x = testing::mixed_transmission(2, sent, 8, 0.1);
      if (strength > 0) testing::add_prior(x, strength);
      expect_exact(x);
    }
}

TEST(MttDetector, TwoAntennasAreExact) {
  for (const int bits : {2, 4, 6})
    for (const int rx : {2, 4}) {
      auto x = random_transmission(rx, 2, bits, bits == 6 ? 4 : 30, 0.1);
      for (const double strength : {0, 3}) {
        if (strength > 0) testing::add_prior(x, strength);
        expect_exact(x);
      }
    }
}

TEST(MttDetector, ChannelsThatServeSeveralVectors) {
  for (const std::int64_t of_channel : {2, 12, 16, 17, 49}) {
    const auto x = random_transmission(4, 3, 2, 19 * of_channel, 0.1, 19);
    Transmission repeated = x;
    repeated.h.clear();
    for (std::int64_t v = 0; v < x.vectors(); ++v)
      for (int i = 0; i < 12; ++i) repeated.h.push_back(x.h[static_cast<std::size_t>(v / of_channel * 12 + i)]);
    EXPECT_TRUE(same_bits(detect(x).llr, detect(repeated).llr)) << of_channel;
    EXPECT_TRUE(same_bits(detect(x).distance, detect(repeated).distance)) << of_channel;
  }
}

TEST(MttDetector, BatchesOfAnySize) {
  EXPECT_EQ(detect(random_transmission(4, 4, 2, 0, 0.1, 1)).events[mimo::kVectors], 0);
  const auto x = random_transmission(2, 2, 2, 65537, 0.1);
  const Detected all = detect(x);
  EXPECT_EQ(all.events[mimo::kVectors], 65537);
  for (const std::int64_t first : {0, 1, 17, 65536}) {  // one by one gives the same
    Transmission one = x;
    one.y.assign(x.y.begin() + 2 * first, x.y.begin() + 2 * first + 2);
    one.h.assign(x.h.begin() + 4 * first, x.h.begin() + 4 * first + 4);
    const Detected got = detect(one);
    EXPECT_TRUE(std::equal(got.llr.begin(), got.llr.end(), all.llr.begin() + 4 * first)) << first;
  }
}

TEST(MttDetector, AntennasThatDiffer) {
  auto x = random_transmission(4, 4, 4, 40, 0.001);
  for (std::size_t i = 0; i < x.h.size(); ++i)
    if (i % 4 == 1) x.h[i] *= 0.01f;  // one transmitter
  expect_as_defined(x);
  for (std::size_t v = 0; v < 40; ++v) {  // one receiver
    x.y[4 * v + 2] *= 0.01f;
    for (std::size_t t = 0; t < 4; ++t) x.h[16 * v + 8 + t] *= 0.01f;
  }
  expect_as_defined(x);
}

TEST(MttDetector, DependentColumns) {
  for (const int bits : {2, 4}) {
    auto x = random_transmission(2, 2, bits, 30, 0.1);
    for (std::size_t i = 0; i < x.h.size(); i += 2) x.h[i + 1] = i % 8 < 4 ? x.h[i] : cf32(0);
    std::vector<double> llrs;
    for (std::int64_t v = 0; v < x.vectors(); ++v)
      for (const double llr : exhaustive(x, v)) llrs.push_back(llr);
    expect_near(detect(x).llr, llrs, "two");
  }
  auto x = random_transmission(4, 4, 6, 30, 0.1);
  for (std::size_t i = 0; i < x.h.size(); i += 4) x.h[i + 2] = x.h[i];
  for (const char* const others : {"", ", lists: pooled", ", variant: paper"}) {
    const Detected got = detect(x, others);
    EXPECT_EQ(got.events[mimo::kErased], 0);
    for (const float llr : got.llr) ASSERT_TRUE(std::isfinite(llr));
  }
}

TEST(MttDetector, WithoutNoiseItFindsWhatWasSent) {
  for (const int bits : {2, 4, 6}) {
    auto x = random_transmission(4, 4, bits, 50, 0);
    for (std::size_t v = 0; v < 10; ++v)  // all paths of a row are equally good if columns are orthogonal
      for (std::size_t i = 0; i < 16; ++i) {
        x.h[16 * v + i] = i % 5 == 0;
        x.y[4 * v + i % 4] = cf32(constellation(bits)[static_cast<std::size_t>(x.symbols[4 * v + i % 4])]);
      }
    const Detected got = detect(x);
    for (std::size_t i = 0; i < got.llr.size(); ++i) {
      ASSERT_TRUE(std::isfinite(got.llr[i]));
      const auto b = i % static_cast<std::size_t>(bits);
      const int sent = x.symbols[i / static_cast<std::size_t>(bits)] >> (bits - 1 - static_cast<int>(b)) & 1;
      EXPECT_EQ(got.bits[i], sent) << i;
      EXPECT_GT(std::abs(got.llr[i]), 1e20f) << i;
    }
  }
}

TEST(MttDetector, LargestLlrs) {
  auto x = random_transmission(4, 4, 4, 50, 0.1);
  x.noise[0] = 0;
  for (const float llr : detect(x, ", llr: f16").llr) EXPECT_EQ(std::abs(llr), 65504);
  for (const float llr : detect(x, ", llr: i8").llr) EXPECT_EQ(std::abs(llr), 127);
}

TEST(MttDetector, ChannelsAtTheEndsOfTheScale) {
  for (const float scale : {0x1p-140f, 0x1p124f}) {
    auto x = random_transmission(4, 4, 4, 20, 0);
    for (cf32& v : x.y) v *= scale;
    for (cf32& v : x.h) v *= scale;
    const Detected got = detect(x);
    EXPECT_EQ(got.events[mimo::kErased], 0) << scale;
    for (const float llr : got.llr) EXPECT_TRUE(std::isfinite(llr)) << scale;
  }
}

}  // namespace
}  // namespace iqd::mtt_detector
