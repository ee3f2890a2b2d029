// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/block_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace iqd {
namespace {

constexpr std::size_t kFromSource = BlockCost::Data::kHost;

/// The least time of all possible placements.
double least_time(const BlockCost& block) {
  double least = 1e300;
  for (std::uint32_t bits = 0; bits < 1u << block.parts.size(); ++bits) {
    Sides sides;
    for (std::size_t p = 0; p < block.parts.size(); ++p) sides.push_back(bits >> p & 1 ? Side::device : Side::host);
    bool allowed = true;
    for (std::size_t p = 0; p < sides.size(); ++p)
      allowed = allowed && block.parts[p].fixed.value_or(sides[p]) == sides[p];
    if (allowed) least = std::min(least, time_of(block, sides));
  }
  return least;
}

/// Parts that read the source and what parts before them make, with random costs.
BlockCost random_block(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  BlockCost block;
  block.host_us = below(30);
  block.device_us = below(40);
  const int parts = 1 + below(9);
  block.data.push_back({kFromSource, {}, below(4) == 0, 1.0 + below(20), 1.0 + below(20)});
  for (int p = 0; p < parts; ++p) {
    BlockCost::Part part{1.0 + below(100), 1.0 + below(40)};
    if (below(5) == 0) part.fixed = below(2) ? Side::device : Side::host;
    block.parts.push_back(part);
    for (int input = 0; input <= below(2); ++input) {
      std::vector<std::size_t>& readers = block.data[random() % block.data.size()].readers;
      if (std::ranges::find(readers, static_cast<std::size_t>(p)) == readers.end())
        readers.push_back(static_cast<std::size_t>(p));
    }
    for (int output = 0; output <= below(2); ++output)
      block.data.push_back({static_cast<std::size_t>(p), {}, below(3) == 0, 1.0 + below(30), 1.0 + below(30)});
  }
  return block;
}

TEST(BlockCost, NoPlacementIsQuicker) {
  std::mt19937 random(5);
  int mixed = 0;
  for (int n = 0; n < 3000; ++n) {
    const BlockCost block = random_block(random);
    const Sides sides = quickest(block);
    ASSERT_NEAR(time_of(block, sides), least_time(block), 1e-3) << "graph " << n;
    for (std::size_t p = 0; p < sides.size(); ++p)
      ASSERT_EQ(block.parts[p].fixed.value_or(sides[p]), sides[p]) << "graph " << n << ", part " << p;
    mixed +=
        std::ranges::find(sides, Side::host) != sides.end() && std::ranges::find(sides, Side::device) != sides.end();
  }
  EXPECT_GT(mixed, 300) << "the graphs are not only of the simple kind";
}

BlockCost one_stage(double host_us, double device_us) {
  BlockCost block;
  block.parts = {{host_us, device_us}};
  block.data = {{kFromSource, {0}, false, 20, 7}, {0, {}, true, 9, 30}};
  block.device_us = 10;
  return block;
}

TEST(BlockCost, CrossingCounts) {
  EXPECT_EQ(time_of(one_stage(100, 5), {Side::host}), 100);
  EXPECT_EQ(time_of(one_stage(100, 5), {Side::device}), 5 + 10 + 20 + 30);
  EXPECT_EQ(quickest(one_stage(66, 5)), Sides{Side::device});
  EXPECT_EQ(quickest(one_stage(64, 5)), Sides{Side::host});
  EXPECT_EQ(quickest(one_stage(65, 5)), Sides{Side::device}) << "of equal ones, the device";
}

TEST(BlockCost, DataCrossesOnceForAllWhoRead) {
  BlockCost block;
  block.parts = {{50, 1}, {50, 1}, {50, 1}};
  block.data = {{kFromSource, {0, 1, 2}, false, 40, 0}};
  EXPECT_EQ(time_of(block, {Side::device, Side::device, Side::device}), 3 + 40);
  EXPECT_EQ(time_of(block, {Side::device, Side::host, Side::device}), 2 + 50 + 40);
  EXPECT_EQ(quickest(block), (Sides{Side::device, Side::device, Side::device}));
}

TEST(BlockCost, EachRunOnTheDeviceIsLaunched) {
  BlockCost block;
  block.parts = {{9, 0, Side::device}, {0, 0, Side::host}, {9, 0}, {9, 0}};
  block.host_us = 4;
  block.device_us = 10;
  EXPECT_EQ(time_of(block, {Side::device, Side::host, Side::device, Side::device}), 4 + 10 + 10);
  EXPECT_EQ(time_of(block, {Side::device, Side::host, Side::host, Side::host}), 4 + 10 + 18);
  EXPECT_EQ(quickest(block), (Sides{Side::device, Side::host, Side::device, Side::device}));
  block.device_us = 19;
  EXPECT_EQ(quickest(block), (Sides{Side::device, Side::host, Side::host, Side::host}));
}

TEST(BlockCost, FixedPartsStay) {
  BlockCost block;
  block.parts = {{1, 1000, Side::device}, {1000, 1, Side::host}};
  EXPECT_EQ(quickest(block), (Sides{Side::device, Side::host}));
  EXPECT_EQ(all_on(block, Side::host), (Sides{Side::device, Side::host}));
  EXPECT_EQ(host_time_of(block, quickest(block)), 1000);
}

TEST(BlockCost, NothingToPlace) {
  EXPECT_EQ(quickest({}), Sides{});
  EXPECT_EQ(time_of({}, {}), 0);
}

}  // namespace
}  // namespace iqd
