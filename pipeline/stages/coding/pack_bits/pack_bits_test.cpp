// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/coding/pack_bits/pack_bits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/coding_items.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::pack_bits {
namespace {

using coding::Bytes;
using ::testing::HasSubstr;

Bytes packed(const Bytes& bits, std::vector<Dim> item, const std::string& keys, std::int64_t block = 0) {
  static const StageEntry stage = entry();
  return coding::all_of<std::uint8_t>(
      coding::outputs_of(stage, {coding::items_of(bits, std::move(item))}, block, keys).front());
}

TEST(PackBits, TheFirstBitIsTheHighest) {
  const Bytes bits{1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0};
  EXPECT_EQ(packed(bits, {{"bit", 16}}, "{}"), (Bytes{0x83, 0x60}));
  EXPECT_EQ(packed(bits, {{"bit", 8}}, "{order: lsb}"), (Bytes{0xc1, 0x06}));
}

TEST(PackBits, EachRowBeginsAByte) {
  const Bytes ones(2 * 3 * 11, 1);
  EXPECT_EQ(packed(ones, {{"kind", 3}, {"bit", 11}}, "{}"),
            (Bytes{0xff, 0xe0, 0xff, 0xe0, 0xff, 0xe0, 0xff, 0xe0, 0xff, 0xe0, 0xff, 0xe0}));
  EXPECT_EQ(packed(ones, {{"bit", 3}}, "{order: lsb}"), Bytes(22, 0x07));
}

TEST(PackBits, HowItemsAreCutDoesNotMatterNorHigherBits) {
  std::mt19937 random(1);
  Bytes bits(7 * 4 * 26);
  for (auto& b : bits) b = static_cast<std::uint8_t>(random());
  Bytes lowest;
  for (const std::uint8_t b : bits) lowest.push_back(b & 1);
  const std::vector<Dim> item{{"word", 4}, {"bit", 26}};
  EXPECT_EQ(packed(bits, item, "{}", 3), packed(lowest, item, "{}"));
}

TEST(PackBits, ShapesFollow) {
  PortShape in = entry().inputs[0].example_shape(Element::u8, 5);
  in.item = {{"word", 3}, {"bit", 1025}};
  EXPECT_EQ(testing::StageUnderTest(entry(), "{}", {in}).out().text(), "u8 [packet up to 5][word 3][byte 129]");
  in.item.clear();
  EXPECT_THAT(testing::StageUnderTest(entry(), "{}", {in}).complaints(), HasSubstr("takes items of bits"));
}

}  // namespace
}  // namespace iqd::pack_bits
