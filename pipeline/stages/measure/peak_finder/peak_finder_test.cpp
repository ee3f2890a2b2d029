// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/measure/peak_finder/peak_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/stage_under_test.hpp"

namespace iqd::peak_finder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::real_noise;
using testing::StageUnderTest;
using testing::stream_of;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Peak> peaks_of(const std::vector<float>& x, float threshold, std::size_t most = 16) {
  std::vector<Peak> peaks(most);
  const std::int64_t n = run_cpu(View<const float, 1>(x.data(), {std::ssize(x)}), 0, std::ssize(x), threshold, peaks);
  peaks.resize(static_cast<std::size_t>(n));
  return peaks;
}

TEST(PeakFinder, FindsMaximaAboveTheThreshold) {
  EXPECT_THAT(peaks_of({0, 3, 0, 1, 0, 2, 5}, 1), ElementsAre(Peak{1, 3}, Peak{6, 5}));
}

TEST(PeakFinder, EdgesAndPlateaus) {
  EXPECT_THAT(peaks_of({4}, 1), ElementsAre(Peak{0, 4}));
  EXPECT_THAT(peaks_of({4, 1, 1, 4}, 1), ElementsAre(Peak{0, 4}, Peak{3, 4}));
  EXPECT_THAT(peaks_of({1, 5, 5, 5, 1}, 0), ElementsAre(Peak{1, 5}));
  EXPECT_THAT(peaks_of({2, 2}, 2), ElementsAre());
  EXPECT_THAT(peaks_of({}, 0), ElementsAre());
}

TEST(PeakFinder, NanAndInfinity) {
  EXPECT_THAT(peaks_of({kNan, 3, 1, 2, kNan, 4, 1}, 0), ElementsAre());
  EXPECT_THAT(peaks_of({1, kInf, 1, -kInf, 2, -kInf}, 0), ElementsAre(Peak{1, kInf}, Peak{4, 2}));
  EXPECT_THAT(peaks_of({1, 2, 1}, kInf), ElementsAre());
  EXPECT_THAT(peaks_of({-5, -kInf}, -kInf), ElementsAre(Peak{0, -5}));
}

TEST(PeakFinder, KeepsTheLargestInOrderOfPosition) {
  const std::vector<float> x{0, 3, 0, 9, 0, 4, 0, 9, 0, 1, 0, 4, 0};
  EXPECT_THAT(peaks_of(x, 0, 3), ElementsAre(Peak{3, 9}, Peak{5, 4}, Peak{7, 9}));
  EXPECT_THAT(peaks_of(x, 0, 1), ElementsAre(Peak{3, 9}));
  EXPECT_THAT(peaks_of(x, 0, 0), ElementsAre());
}

TEST(PeakFinder, AgreesWithSortingThemAll) {
  const auto x = real_noise(1000);
  const auto all = peaks_of(x, -1, 1000);
  auto expected = all;
  std::stable_sort(expected.begin(), expected.end(), [](Peak a, Peak b) { return a.value > b.value; });
  expected.resize(20);
  std::sort(expected.begin(), expected.end(), [](Peak a, Peak b) { return a.position < b.position; });
  EXPECT_EQ(peaks_of(x, -1, 20), expected);
}

TEST(PeakFinder, OfBins) {
  PortShape bins = stream_of(Element::f32);
  bins.axis = Axis::block;
  bins.item = {{"bin", 5}};
  StageUnderTest s(entry(), "{threshold: -60, max: 4}", {bins});
  EXPECT_EQ(s.out().text(), "f32 [peak up to 4][field 2]");
  EXPECT_FALSE(s.chunk_exempt());
  const std::vector<float> x{-80, -20, -80, -30, -200};
  EXPECT_THAT(s.once<float>(x, 0, 0), ElementsAre(1, -20, 3, -30));
  EXPECT_THAT(s.once<float>(x, 0, 0, 0), ElementsAre());  // a block without a spectrum
}

TEST(PeakFinder, OfAStreamSeesOverTheEdgesOfItsBlock) {
  StageUnderTest s(entry(), "{threshold: 0}", {stream_of(Element::f32)});
  EXPECT_TRUE(s.chunk_exempt());
  const std::vector<float> x{1, 2, 3, 1, 4, 5, 1};
  EXPECT_THAT(s.once<float>(x, 0, 2), ElementsAre());
  EXPECT_THAT(s.once<float>(x, 2, 5), ElementsAre(0, 3));
  EXPECT_THAT(s.once<float>(x, 5, 7), ElementsAre(0, 5));
}

TEST(PeakFinder, SeveralChannelsArePaddedWithNan) {
  StageUnderTest s(entry(), "{threshold: 0, max: 3}", {stream_of(Element::f32, 2)});
  EXPECT_EQ(s.out().text(), "f32 [channel 2][peak 3][field 2]");
  const auto y = s.once<float>(std::vector<float>{0, 1, 0, 2, 0, 0, 0, 0, 0, 7}, 0, 5);
  ASSERT_EQ(y.size(), 12u);
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{1, 1, 3, 2}));
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
  EXPECT_EQ(y[6], 4);
  EXPECT_EQ(y[7], 7);
  EXPECT_TRUE(std::isnan(y[8]));
  EXPECT_EQ(s.count(), 1);
}

TEST(PeakFinder, RefusesWhatCannotBe) {
  EXPECT_THAT(StageUnderTest(entry(), "{}", {stream_of(Element::f32)}).complaints(),
              HasSubstr("threshold: is required"));
  EXPECT_THAT(StageUnderTest(entry(), "{threshold: 1, max: 0}", {stream_of(Element::f32)}).complaints(),
              HasSubstr("max"));
  PortShape frames = stream_of(Element::f32);
  frames.item = {{"bin", 4}};
  EXPECT_THAT(StageUnderTest(entry(), "{threshold: 1}", {frames}).complaints(), HasSubstr("has to be [bin] or [n]"));
}

}  // namespace
}  // namespace iqd::peak_finder
