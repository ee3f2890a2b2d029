// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd::warp_node {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kNow = 1'000'000'000;

Options small(std::vector<int> wires = {}) {
  Options o;
  o.most = 8;
  o.rate_hz = 1e6;
  o.wires = std::move(wires);
  return o;
}

TEST(WarpBoard, ATriggerStartsWhatIsEnabled) {
  Board board(small());
  board.set_rx_length(2);
  board.enable_capture(0b0110);
  board.enable_transmission(0b0001);
  const Board::Started started = board.trigger(kNow);
  EXPECT_EQ(started.captures, 2);
  EXPECT_EQ(started.sent, 1);
  EXPECT_FALSE(board.chain(0).captured);
  EXPECT_TRUE(board.chain(2).captured);
  EXPECT_EQ(board.chain(2).triggered_ns, kNow);
  EXPECT_EQ(board.chain(2).rx[1], pattern(1, 2, 1));
  board.disable(0b1111);
  EXPECT_EQ(board.trigger(kNow).captures, 0);
}

TEST(WarpBoard, LengthsAreLimitedByTheBuffers) {
  Board board(small());
  board.set_tx_length(100);
  board.set_rx_length(7);
  EXPECT_EQ(board.tx_length(), 8u);
  EXPECT_EQ(board.rx_length(), 7u);
}

TEST(WarpBoard, AChainIsOnAirForTheDurationOfItsBurst) {
  Board board(small());
  board.set_tx_length(5);
  board.enable_transmission(1);
  board.trigger(kNow);
  EXPECT_FALSE(board.is_on_air(0, kNow)) << "its RF is off";
  board.set_rf(1, true, false);
  EXPECT_TRUE(board.is_on_air(0, kNow + 4'999));
  EXPECT_FALSE(board.is_on_air(0, kNow + 5'000));
  board.set_tx_mode(1);
  EXPECT_TRUE(board.is_on_air(0, kNow + 5'000)) << "it is repeated";
  board.disable(1);
  EXPECT_FALSE(board.is_on_air(0, kNow));
}

TEST(WarpBoard, AWireDelaysAndOnlyAContinuousBurstIsRepeated) {
  Options o = small({-1, 0});
  o.delay = 1;
  Board board(o);
  board.chain(0).tx = {11, 12, 13, 0, 0, 0, 0, 0};
  board.set_tx_length(3);
  board.set_tx_delay(1);
  board.set_rx_length(6);
  board.set_rf(0b01, true, false);
  board.set_rf(0b10, false, true);
  board.enable_transmission(0b01);
  board.enable_capture(0b10);
  board.trigger(kNow);
  EXPECT_THAT(std::vector(board.chain(1).rx.begin(), board.chain(1).rx.begin() + 6), ElementsAre(0, 0, 11, 12, 13, 0));
  board.set_tx_mode(1);
  board.trigger(kNow);
  EXPECT_EQ(board.chain(1).rx[5], 11u);
  board.set_rf(0b10, false, false);
  board.trigger(kNow);
  EXPECT_EQ(board.chain(1).rx[5], 0u) << "the receiver is off";
}

TEST(WarpBoard, ARestartForgetsTriggersAndCaptures) {
  Board board(small());
  board.add_trigger(0b100);
  board.enable_capture(1);
  board.trigger(kNow);
  EXPECT_TRUE(board.listens_to(0b110));
  EXPECT_FALSE(board.listens_to(0b010));
  board.restart();
  EXPECT_FALSE(board.listens_to(0b100));
  EXPECT_FALSE(board.chain(0).captured);
  EXPECT_EQ(board.chain(0).capture, 0);
  EXPECT_EQ(board.rx_length(), 8u);
}

}  // namespace
}  // namespace iqd::warp_node
