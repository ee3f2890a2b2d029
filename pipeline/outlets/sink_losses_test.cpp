// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_losses.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

Message message(std::uint64_t block, std::int64_t gap = 0) {
  Message m;
  m.block = block;
  m.sample = 100 * static_cast<SampleIndex>(block);
  m.samples = 100;
  m.gap = gap;
  m.dropped = gap;
  return m;
}

TEST(SinkLosses, TheNextMessageReportsThem) {
  SinkLosses losses(4);
  losses.add(message(1, 30));
  losses.add(message(2));
  Message next = message(3);
  losses.report(next);
  EXPECT_EQ(next.gap, 230) << "with the gap before the first that was lost";
  EXPECT_EQ(next.dropped, 200);
  losses.reported();
  next = message(4);
  losses.report(next);
  EXPECT_EQ(next.gap, 0);
  EXPECT_EQ(next.dropped, 200) << "the sum stays";
}

TEST(SinkLosses, AMessageThatIsLostInTurnReportsNothing) {
  SinkLosses losses(4);
  losses.add(message(1));
  Message second = message(2);
  losses.report(second);
  losses.add(message(2));
  Message third = message(3);
  losses.report(third);
  EXPECT_EQ(third.gap, 200);
}

TEST(SinkLosses, EachIsFetchedOnce) {
  SinkLosses losses(4);
  EXPECT_FALSE(losses.fetch());
  losses.add(message(7));
  losses.add(message(8));
  EXPECT_EQ(losses.fetch()->block, 7u);
  EXPECT_EQ(losses.fetch()->samples, 100);
  EXPECT_FALSE(losses.fetch());
}

}  // namespace
}  // namespace iqd
