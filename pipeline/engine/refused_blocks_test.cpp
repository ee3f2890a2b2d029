// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/refused_blocks.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(RefusedBlocks, ABlockThatTwoLoseIsOwedOnce) {
  RefusedBlocks refused;
  refused.owe(3, 64);
  refused.owe(3, 64);
  refused.owe(4, 64);
  EXPECT_FALSE(refused.add(4));
  EXPECT_EQ(refused.settle(1000), 128);
  EXPECT_EQ(refused.settle(1000), 0);
}

/// An engine after a reload settles what the sinks of the engine before it lose while they close.
TEST(RefusedBlocks, LaterBlocksCountInThePlaceOfLostOnes) {
  RefusedBlocks refused;
  refused.owe(1, 100);
  EXPECT_EQ(refused.settle(64), 64);
  EXPECT_FALSE(refused.has_ended());
  refused.end();
  refused.owe(2, 100);
  EXPECT_TRUE(refused.has_ended()) << "so what was lost then counts at once";
  EXPECT_EQ(refused.settle(1000), 136);
}

}  // namespace
}  // namespace iqd
