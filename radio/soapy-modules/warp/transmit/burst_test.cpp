// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/burst.hpp"

#include <gtest/gtest.h>

namespace iqd::warp {
namespace {

/// Sample n of row r: 100 r + n, and the negative of it.
class Numbers final : public Burst::Rows {
 public:
  void copy(std::size_t row, std::uint32_t at, std::uint32_t count, std::int16_t* to) const override {
    for (std::uint32_t n = at; n < at + count; ++n) {
      const auto i = static_cast<std::int16_t>(100 * row + n);
      *to++ = i;
      *to++ = static_cast<std::int16_t>(-i);
    }
  }
};

TEST(WarpBurst, SamplesAreAppendedUntilThereIsNoRoom) {
  Burst burst(2, 10);
  EXPECT_EQ(burst.room(), 10u);
  burst.append(Numbers(), 5, 4);
  burst.append(Numbers(), 20, 6);
  EXPECT_EQ(burst.size(), 10u);
  EXPECT_EQ(burst.room(), 0u);
  EXPECT_EQ(burst.iq(0, 3)[0], 8);
  EXPECT_EQ(burst.iq(1, 4)[0], 120);
  EXPECT_EQ(burst.iq(1, 9)[1], -125);
}

TEST(WarpBurst, ClearMakesRoom) {
  Burst burst(1, 10);
  burst.append(Numbers(), 0, 10);
  burst.clear();
  EXPECT_EQ(burst.size(), 0u);
  burst.append(Numbers(), 7, 1);
  EXPECT_EQ(burst.iq(0, 0)[0], 7);
}

}  // namespace
}  // namespace iqd::warp
