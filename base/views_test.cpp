// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/views.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <type_traits>
#include <vector>

namespace iqd {
namespace {

TEST(View, RowsLieOneBehindTheOther) {
  std::vector<int> memory(24);
  std::iota(memory.begin(), memory.end(), 0);
  const View<int, 3> v(memory.data(), {2, 3, 4});
  EXPECT_EQ(v.size(), 24);
  int expected = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(v(i, j, k), expected++);
}

TEST(View, PitchSetsRowsApart) {
  std::vector<int> memory(20);
  std::iota(memory.begin(), memory.end(), 0);
  const View<int, 2> v(memory.data() + 1, {3, 4}, 6);
  EXPECT_EQ(v(0, 0), 1);
  EXPECT_EQ(v(2, 3), 1 + 2 * 6 + 3);
  EXPECT_EQ(v.stride(0), 6);
  EXPECT_EQ(v.stride(1), 1);
  EXPECT_EQ(v.size(), 12);
}

TEST(View, ARowIsAViewOfItsMemory) {
  std::vector<int> memory(60);
  std::iota(memory.begin(), memory.end(), 0);
  const View<int, 3> v(memory.data(), {2, 3, 4}, 30);
  const View<int, 2> row = v.row(1);
  EXPECT_EQ(row.extent(0), 3);
  EXPECT_EQ(row.extent(1), 4);
  EXPECT_EQ(row(2, 3), 30 + 2 * 4 + 3);
  row.row(2)(3) = -1;
  EXPECT_EQ(v(1, 2, 3), -1);
}

TEST(View, ReadingOneComesFromWritingOneOnly) {
  std::vector<int> memory(8);
  const View<int, 2> v(memory.data(), {2, 2}, 4);
  const View<const int, 2> c = v;
  memory[5] = 9;
  EXPECT_EQ(c(1, 1), 9);
  EXPECT_EQ(c.stride(0), 4);
  EXPECT_FALSE((std::is_constructible_v<View<int, 2>, View<const int, 2>>));
}

TEST(View, EmptyOnesHaveNoElements) {
  EXPECT_EQ((View<int, 2>().size()), 0);
  EXPECT_EQ((View<int, 2>(nullptr, {3, 0}).size()), 0);
}

}  // namespace
}  // namespace iqd
