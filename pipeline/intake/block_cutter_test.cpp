// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/block_cutter.hpp"

#include <gtest/gtest.h>

#include "tests/support/scripted_source.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kBlock = 64;

class BlockCutterTest : public ::testing::Test {
 protected:
  /// Takes the complete blocks; earlier blocks must have been taken.
  std::vector<SampleBlock> take(BlockCutter& cutter) {
    const auto complete = cutter.complete();
    std::vector<SampleBlock> taken(complete.begin(), complete.end());
    cutter.take_complete();
    return taken;
  }
  BlockCutter cutter(Reach reach = {}, const Excerpt& excerpt = {}) {
    return {kBlock, reach, clock_, tunings_, excerpt};
  }

  Counters counters_;
  StreamClock clock_{"test", StreamInfo{}, counters_};
  TuningLog tunings_{0, 0, counters_};
};

TEST_F(BlockCutterTest, CutsAtMultiplesWhateverArrives) {
  BlockCutter c = cutter();
  c.arrived(100);
  c.arrived(27);
  c.arrived(1);
  c.arrived(300);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 6u);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    EXPECT_EQ(blocks[b].first, static_cast<SampleIndex>(b) * kBlock);
    EXPECT_EQ(blocks[b].length, kBlock);
    EXPECT_EQ(blocks[b].fresh, b == 0);
  }
  c.finish();
  const auto rest = take(c);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].first, 6 * kBlock);
  EXPECT_EQ(rest[0].length, 428 - 6 * kBlock);
}

TEST_F(BlockCutterTest, OnlyTheExcerptBecomesBlocks) {
  BlockCutter c = cutter({.past = 100, .future = 10}, {.at = 1000, .first = 1100, .end = 1170});
  EXPECT_EQ(c.position(), 1000);
  EXPECT_EQ(c.wanted(90), 0);
  EXPECT_EQ(c.wanted(110), 10);
  EXPECT_EQ(c.wanted(1000), 70);
  c.arrived(179);
  c.arrived(1);
  c.arrived(400);
  c.finish();
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].first, 1100);
  EXPECT_EQ(blocks[0].end(), 18 * kBlock);
  EXPECT_EQ(blocks[1].end(), 1170);
  for (const SampleBlock& block : blocks) {
    EXPECT_EQ(block.past, 100);
    EXPECT_EQ(block.future, 10);
    EXPECT_FALSE(block.fresh);
    EXPECT_EQ(block.skipped % kBlock, 0);
    EXPECT_GE(block.place(), block.past);
    EXPECT_LT(block.place(), 100 + 3 * kBlock);
  }
}

TEST_F(BlockCutterTest, AWarmStartHasBlocksWithoutResults) {
  BlockCutter c = cutter({.past = 100}, {.at = 900, .warm = 100, .first = 1100, .end = 1170});
  EXPECT_EQ(c.wanted(210), 10);
  c.arrived(270);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].first, 1000);
  EXPECT_EQ(blocks[2].end(), 1100);
  EXPECT_EQ(blocks[4].end(), 1170);
  for (const SampleBlock& block : blocks) EXPECT_EQ(block.warms, block.first < 1100) << block.first;
}

TEST_F(BlockCutterTest, AGapBeforeTheExcerptIsItsOwnOnlyIfItTouchesIt) {
  for (const SampleIndex first : {SampleIndex{640}, SampleIndex{650}}) {
    BlockCutter c = cutter({.past = 64}, {.at = 600, .first = first});
    c.skip(45);
    c.arrived(50);
    c.finish();
    const auto blocks = take(c);
    ASSERT_FALSE(blocks.empty());
    EXPECT_EQ(blocks[0].first, std::max<SampleIndex>(first, 645));
    EXPECT_EQ(blocks[0].gap, first == 640 ? 45 : 0);
    EXPECT_EQ(blocks[0].past, first == 640 ? 0 : 5);
  }
}

TEST_F(BlockCutterTest, ARetuneBeforeTheExcerptIsNotMarked) {
  BlockCutter c = cutter({.past = 100}, {.at = 1000, .first = 1100});
  iqd::testing::SourceView view;
  const iqd::testing::ScriptedOptions options{StreamInfo{}, {}, view};
  tunings_.add(1050, options, StreamInfo{.frequency_hz = 5});
  tunings_.add(1110, options, StreamInfo{.frequency_hz = 7});
  c.arrived(100);
  c.arrived(2 * kBlock);
  const auto blocks = take(c);
  ASSERT_GE(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].tuned, 1110);
  EXPECT_EQ(blocks[0].was_retuned_hz, 5);
  EXPECT_EQ(blocks[0].retuned_hz, 7);
  EXPECT_EQ(blocks[1].tuned, -1);
}

TEST_F(BlockCutterTest, PastAndFuture) {
  BlockCutter c = cutter({.past = 100, .future = 10});
  c.arrived(kBlock);
  EXPECT_TRUE(take(c).empty());
  EXPECT_EQ(c.held(), 1);
  c.arrived(9);
  EXPECT_TRUE(take(c).empty());
  c.arrived(1);
  const auto first = take(c);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].past, 0);
  EXPECT_EQ(first[0].future, 10);
  c.arrived(2 * kBlock);
  const auto more = take(c);
  ASSERT_EQ(more.size(), 2u);
  EXPECT_EQ(more[0].past, kBlock);
  EXPECT_EQ(more[1].past, 100);
  // The current block needs its past.
  EXPECT_EQ(c.oldest_place(), 3 * kBlock - 100);
}

TEST_F(BlockCutterTest, AGapCutsAndTakesNoPlace) {
  BlockCutter c = cutter({.past = 8, .future = 8});
  c.arrived(70);
  c.skip(1000);
  const auto before = take(c);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[1].first, kBlock);
  EXPECT_EQ(before[1].length, 6);
  EXPECT_EQ(before[1].future, 0);
  EXPECT_EQ(c.position(), 1070);
  EXPECT_EQ(c.block_end(), 1088);  // of the block that contains 1070
  // In whole blocks, so that positions and places agree modulo the block.
  const SampleIndex place = c.place_of(c.position());
  EXPECT_EQ((c.position() - place) % kBlock, 0);
  EXPECT_GE(place, 70);
  EXPECT_LT(place, 70 + kBlock);
  c.arrived(18);
  c.finish();
  const auto behind = take(c);
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(behind[0].first, 1070);
  EXPECT_EQ(behind[0].gap, 1000);
  EXPECT_EQ(behind[0].dropped, 1000);
  EXPECT_EQ(behind[0].past, 0);
  EXPECT_TRUE(behind[0].fresh);
}

TEST_F(BlockCutterTest, DropsToTheEndOfABlock) {
  BlockCutter c = cutter();
  EXPECT_EQ(c.arrived(kBlock), 0);
  take(c);
  c.start_dropping();
  EXPECT_TRUE(c.is_dropping());
  EXPECT_EQ(c.arrived(40), 40);
  EXPECT_TRUE(c.is_dropping());
  EXPECT_EQ(c.arrived(24), 24);
  EXPECT_FALSE(c.is_dropping());
  EXPECT_TRUE(c.is_between_blocks());
  EXPECT_EQ(c.arrived(kBlock), 0);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].first, 2 * kBlock);
  EXPECT_EQ(blocks[0].gap, kBlock);
  EXPECT_EQ(blocks[0].place(), kBlock);
}

TEST_F(BlockCutterTest, DroppingCompletesWhatWaitsForItsFuture) {
  BlockCutter c = cutter({.past = 0, .future = 10});
  c.arrived(kBlock);
  c.start_dropping();
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].future, 0);
}

TEST_F(BlockCutterTest, APieceEndsWithoutAGap) {
  BlockCutter c = cutter({.past = 8, .future = 0});
  c.arrived(100);
  c.end_piece();
  ASSERT_EQ(take(c).size(), 2u);
  c.arrived(28);
  const auto next = take(c);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].first, 100);
  EXPECT_EQ(next[0].gap, 0);
  EXPECT_EQ(next[0].past, 0);
  EXPECT_TRUE(next[0].fresh);
}

TEST_F(BlockCutterTest, HandsOverFromTheFirstBlockThatWasNotTaken) {
  BlockCutter c = cutter({.past = 16, .future = 10});
  c.arrived(200);  // 0, 64 complete; 128 waits for its future
  ASSERT_EQ(take(c).size(), 2u);
  const auto over = c.hand_over(32, {.past = 40, .future = 0}, 10'000);
  EXPECT_EQ(over.kept, 0);
  EXPECT_EQ(over.samples, 200);
  EXPECT_EQ(over.again, 200 - 128);
  EXPECT_EQ(c.position(), 128);
  EXPECT_EQ(c.arrived(over.again), 0);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].first, 128);
  EXPECT_EQ(blocks[0].length, 32);
  EXPECT_EQ(blocks[0].past, 40);
  EXPECT_FALSE(blocks[0].fresh);
}

TEST_F(BlockCutterTest, HandsOverNoMoreThanBothRingsHold) {
  BlockCutter c = cutter({.past = 16, .future = 0});
  c.arrived(10 * kBlock);
  take(c);
  const auto over = c.hand_over(kBlock, {.past = 100, .future = 0}, 30);
  EXPECT_EQ(over.kept, 10 * kBlock - 30);
  c.arrived(kBlock);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].past, 30);
}

TEST_F(BlockCutterTest, AGapThatWasNotTakenGoesAlong) {
  BlockCutter c = cutter({.past = 0, .future = 10});
  c.arrived(kBlock);
  c.skip(kBlock);
  take(c);
  c.arrived(kBlock);
  ASSERT_EQ(c.held(), 1);
  const auto over = c.hand_over(kBlock, {}, 10'000);
  EXPECT_EQ(over.kept, 2 * kBlock);    // nothing before the gap is useful
  EXPECT_EQ(over.kept_place, kBlock);  // its place in the previous ring
  EXPECT_EQ(c.place_of(2 * kBlock), 2 * kBlock);
  c.arrived(over.again);
  const auto blocks = take(c);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].gap, kBlock);
}

}  // namespace
}  // namespace iqd
