// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/select_channels/select_channels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/stage_under_test.hpp"

namespace iqd::select_channels {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

template <class T> std::vector<T> row(const std::vector<T>& x, std::int64_t r, std::int64_t rows) {
  const std::int64_t n = std::ssize(x) / rows;
  return {x.begin() + r * n, x.begin() + (r + 1) * n};
}

TEST(SelectChannels, GivesThoseThatAreNamedInTheirOrder) {
  StageUnderTest s(entry(), "{channels: [2, 0, 2]}", {stream_of(Element::cf32, 3)});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().rows, (std::vector<Dim>{{"channel", 3}}));
  EXPECT_EQ(s.out().rate_hz, 1e6);
  const auto x = complex_noise(3 * 1000);
  const auto y = s.stream<cf32>(x, {1, 7, 100});
  for (const auto& [k, c] : {std::pair{0, 2}, {1, 0}, {2, 2}}) EXPECT_TRUE(same_bits(row(y, k, 3), row(x, c, 3))) << k;
}

TEST(SelectChannels, OneIsAStreamOfOneChannel) {
  StageUnderTest s(entry(), "{channels: [1]}", {stream_of(Element::sc16, 2)});
  EXPECT_TRUE(s.out().rows.empty());
  EXPECT_EQ(s.out().element, Element::sc16);
  std::vector<sc16> x;
  for (std::int16_t i = 0; i < 500; ++i) x.push_back({i, static_cast<std::int16_t>(-7 * i)});
  EXPECT_EQ(s.stream<sc16>(x, {13}), row(x, 1, 2));
}

TEST(SelectChannels, OfOneChannelThereIsOne) {
  StageUnderTest s(entry(), "{channels: [0, 0]}", {stream_of(Element::f32)});
  std::vector<float> x(100, std::bit_cast<float>(0x7fc01234u));
  EXPECT_TRUE(same_bits(row(s.stream<float>(x), 1, 2), x)) << "a NaN keeps its bits";
}

TEST(SelectChannels, TellsWhatIsNotThere) {
  const auto told = [](const std::string& keys) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32, 2)}).complaints();
  };
  EXPECT_THAT(told("{channels: [0, 2]}"), HasSubstr("channels: there is no channel 2: the input is cf32 [channel 2]"));
  EXPECT_THAT(told("{channels: []}"), HasSubstr("channels: has to name at least one"));
  EXPECT_THAT(told("{channels: [-1]}"), HasSubstr("at least 0"));
  EXPECT_THAT(told("{}"), HasSubstr("channels"));
}

}  // namespace
}  // namespace iqd::select_channels
