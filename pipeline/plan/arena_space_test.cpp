// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/arena_space.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(ArenaSpace, AChainTakesTurns) {
  ArenaSpace space;
  for (StepIndex s = 0; s < 10; ++s) {
    space.begin_step(s);
    EXPECT_EQ(space.place(100, s + 1), s % 2 * 100) << "the next step reads it";
  }
  EXPECT_EQ(space.bytes(), 200u);
}

TEST(ArenaSpace, TheFirstHoleThatFitsIsTaken) {
  ArenaSpace space;
  space.begin_step(0);
  EXPECT_EQ(space.place(100, 0), 0u);
  EXPECT_EQ(space.place(50, 9), 100u);
  EXPECT_EQ(space.place(300, 0), 150u);
  EXPECT_EQ(space.place(10, 9), 450u);
  space.begin_step(1);
  EXPECT_EQ(space.place(200, 1), 150u) << "the hole at 0 is too small";
  EXPECT_EQ(space.place(100, 1), 0u);
  EXPECT_EQ(space.place(100, 1), 350u);
  EXPECT_EQ(space.place(1, 1), 460u) << "no hole is left";
  EXPECT_EQ(space.bytes(), 461u);
}

TEST(ArenaSpace, APieceIsInUseDuringItsLastStep) {
  ArenaSpace space;
  space.place(100, 3);
  space.begin_step(3);
  EXPECT_EQ(space.place(100, 3), 100u);
  space.begin_step(4);
  EXPECT_EQ(space.place(100, 4), 0u);
}

}  // namespace
}  // namespace iqd
