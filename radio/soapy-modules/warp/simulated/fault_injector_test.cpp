// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/fault_injector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace iqd::warp_node {
namespace {

using ::testing::ElementsAre;

/// Packets of six bytes that consist of their number, from 1 on; returns the first byte of those that leave.
std::vector<int> disturbed(const Faults& faults, int count) {
  std::vector<Datagram> packets;
  for (int i = 1; i <= count; ++i) packets.emplace_back(6, static_cast<std::uint8_t>(i));
  FaultInjector injector(faults);
  std::vector<int> left;
  for (const Datagram& p : injector.disturb(std::move(packets))) left.push_back(p[0]);
  return left;
}

TEST(WarpFaultInjector, WithoutFaultsNothingChanges) {
  EXPECT_THAT(disturbed({}, 3), ElementsAre(1, 2, 3));
}

TEST(WarpFaultInjector, EveryNthPacketIsLostRepeatedOrSwapped) {
  EXPECT_THAT(disturbed({.lose = 3}, 6), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(disturbed({.repeat = 2}, 4), ElementsAre(1, 2, 2, 3, 4, 4));
  EXPECT_THAT(disturbed({.swap = 2}, 4), ElementsAre(1, 3, 2, 4)) << "the second arrives after the third";
}

TEST(WarpFaultInjector, AForeignPacketPrecedesAndACutOneIsShort) {
  FaultInjector injector({.cut = 2, .foreign = 1});
  const auto left = injector.disturb({Datagram(6, 0), Datagram(6, 0)});
  ASSERT_EQ(left.size(), 4u);
  EXPECT_EQ(left[0], (Datagram{0, 0, 0, 1, 0, 0})) << "for another host";
  EXPECT_EQ(left[1].size(), 6u);
  EXPECT_EQ(left[2], (Datagram{0, 0, 0, 0, 0, 1})) << "from another node";
  EXPECT_EQ(left[3].size(), 3u);
}

TEST(WarpFaultInjector, CountsContinueFromReplyToReply) {
  FaultInjector injector({.lose = 2});
  EXPECT_EQ(injector.disturb({Datagram(6, 0)}).size(), 1u);
  EXPECT_EQ(injector.disturb({Datagram(6, 0)}).size(), 0u);
}

TEST(WarpFaultInjector, KindsAreCountedSeparately) {
  FaultInjector injector({.lose_commands = 2, .lose_triggers = 1});
  EXPECT_FALSE(injector.loses_command());
  EXPECT_TRUE(injector.loses_trigger());
  EXPECT_TRUE(injector.loses_command());
  EXPECT_FALSE(injector.loses_written());
}

TEST(WarpFaultInjector, ANodeIsDeafForItsTime) {
  EXPECT_FALSE(FaultInjector({}).deaf());
  EXPECT_TRUE(FaultInjector({.deaf_at_s = 0, .deaf_for_s = 3600}).deaf());
  EXPECT_FALSE(FaultInjector({.deaf_at_s = 3600, .deaf_for_s = 1}).deaf());
}

}  // namespace
}  // namespace iqd::warp_node
