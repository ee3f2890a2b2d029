// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/part_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace iqd::gpu {
namespace {

/// As the driver splits an H200.
constexpr DeviceSplit kH200{8, 15, 12};

std::vector<DeviceShare::Part> of_processors(const std::vector<int>& sizes) {
  std::vector<DeviceShare::Part> wanted;
  for (const int n : sizes) wanted.push_back({"", {.processors = n}});
  return wanted;
}
std::vector<DeviceShare::Part> of_percent(const std::vector<double>& sizes) {
  std::vector<DeviceShare::Part> wanted;
  for (const double p : sizes) wanted.push_back({"", {.percent = p}});
  return wanted;
}

PartLayout layout_of(const DeviceSplit& split, const std::vector<DeviceShare::Part>& wanted,
                     std::vector<Groups> kept = {}) {
  kept.resize(wanted.size());
  return lay_out(split, wanted, kept);
}

bool all_fit(const DeviceSplit& split, const std::vector<DeviceShare::Part>& wanted) {
  for (const Groups& part : layout_of(split, wanted).parts)
    if (part.empty()) return false;
  return true;
}

/// Each group belongs to one part or to the rest.
void expect_divided(const DeviceSplit& split, const PartLayout& layout) {
  Groups all = layout.rest;
  for (const Groups& part : layout.parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  Groups expected(static_cast<std::size_t>(split.groups + (split.remainder > 0)));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(PartLayout, RoundsProcessorsUp) {
  for (int n = 1; n <= kH200.all(); ++n) {
    const Groups part = layout_of(kH200, of_processors({n})).parts[0];
    EXPECT_GE(kH200.processors_of(part), n);
    EXPECT_LE(kH200.processors_of(part), n + 11);
  }
}

TEST(PartLayout, PercentagesOfAllFitTogether) {
  for (double p = 4; p <= 96; p += 0.125) EXPECT_TRUE(all_fit(kH200, of_percent({p, 100 - p}))) << p;
}

TEST(PartLayout, RoundsPercentToTheNearestGroup) {
  const auto processors = [](double percent) { return 8 * kH200.groups_for({.percent = percent}); };
  EXPECT_EQ(processors(12), 16);
  EXPECT_EQ(processors(50), 64);
  EXPECT_EQ(processors(0.001), 8) << "never nothing";
  EXPECT_EQ(kH200.processors_of(layout_of(kH200, of_percent({100})).parts[0]), kH200.all());
}

TEST(PartLayout, EqualFractionsOfAnH200FitTogether) {
  for (const double percent : {100.0, 50.0, 33.3, 25.0, 20.0, 12.5})
    EXPECT_TRUE(all_fit(kH200, of_percent(std::vector<double>(static_cast<std::size_t>(100 / percent), percent))))
        << percent;
}

TEST(PartLayout, PartsAreDisjointAndTheRestHasTheRemainder) {
  const PartLayout layout = layout_of(kH200, of_processors({16, 1, 40}));
  EXPECT_EQ(layout.parts, (std::vector<Groups>{{0, 1}, {2}, {3, 4, 5, 6, 7}}));
  EXPECT_EQ(kH200.processors_of(layout.rest), 132 - 16 - 8 - 40);
  expect_divided(kH200, layout);
}

TEST(PartLayout, TheRemainderIsAPartIfItIsLargeEnough) {
  const PartLayout layout = layout_of(kH200, of_processors({64, 64}));
  EXPECT_EQ(kH200.processors_of(layout.parts[1]), 68);
  EXPECT_TRUE(layout.rest.empty());
  constexpr DeviceSplit kSmallRemainder{8, 4, 4};
  const PartLayout small = layout_of(kSmallRemainder, of_processors({32}));
  EXPECT_EQ(small.parts[0], (Groups{0, 1, 2, 3}));
  EXPECT_TRUE(small.rest.empty()) << "four are too few";
  EXPECT_EQ(layout_of(kSmallRemainder, of_processors({24})).rest, (Groups{3, 4}));
  expect_divided(kSmallRemainder, layout_of(kSmallRemainder, of_processors({24})));
}

TEST(PartLayout, WhatDoesNotFitGetsNothing) {
  const PartLayout layout = layout_of(kH200, of_processors({64, 80, 8}));
  EXPECT_FALSE(layout.parts[0].empty());
  EXPECT_TRUE(layout.parts[1].empty());
  EXPECT_TRUE(layout.rest.empty());
  EXPECT_FALSE(all_fit(kH200, of_processors({133})));
  EXPECT_TRUE(all_fit(kH200, of_processors({132})));
}

TEST(PartLayout, SaysTheSum) {
  EXPECT_EQ(sum_text(kH200, of_processors({64, 80})), "shares of 64 SM, 80 SM: 144 SM of 132 SM");
  EXPECT_EQ(sum_text(kH200, of_percent({12, 62.5})), "shares of 12 % (16 SM), 62.5 % (80 SM): 96 SM of 132 SM");
  EXPECT_EQ(sum_text(kH200, of_processors({133, 9})), "shares of 133 SM (136 SM), 9 SM (16 SM): 152 SM of 132 SM");
}

TEST(PartLayout, APartThatKeepsItsSizeStays) {
  const auto before = layout_of(kH200, of_processors({16, 32}));
  const auto grown = layout_of(kH200, of_processors({24, 32}), before.parts);
  EXPECT_EQ(grown.parts[1], before.parts[1]);
  EXPECT_EQ(grown.parts[0], (Groups{0, 1, 6}));
  expect_divided(kH200, grown);
  const auto without_first = layout_of(kH200, of_processors({32}), {before.parts[1]});
  EXPECT_EQ(without_first.parts[0], before.parts[1]);
  expect_divided(kH200, without_first);
}

/// A pipeline asks when it is built, so parts are laid out once for each: all calls must agree.
TEST(PartLayout, WhoAsksFirstChangesNothing) {
  const auto wanted = of_processors({24, 32, 8});
  const std::vector<Groups> before{{0, 1}, {2, 3, 4, 5}, {}};
  const auto first = layout_of(kH200, wanted, before);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::vector<Groups> kept = before;
    kept[i] = first.parts[i];
    EXPECT_EQ(layout_of(kH200, wanted, kept).parts, first.parts);
    EXPECT_EQ(layout_of(kH200, wanted, kept).rest, first.rest);
  }
}

TEST(PartLayout, PartsThatOverlapAreNotBothKept) {
  const auto layout = layout_of(kH200, of_processors({8, 8}), {{3}, {3}});
  EXPECT_EQ(layout.parts, (std::vector<Groups>{{3}, {0}}));
}

}  // namespace
}  // namespace iqd::gpu
