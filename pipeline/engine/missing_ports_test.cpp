// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A stage that cannot compute a block: its results are missing and counted, and nothing else is.
#include "pipeline/engine/missing_ports.hpp"

#include <gtest/gtest.h>

#include "tests/support/device_rig.hpp"

namespace iqd::testing {
namespace {

constexpr std::int64_t kBlock = 64, kBlocks = 20, kEvery = 5;

const StageLine kWindow{"window", "{past: 3}", "", {{"", "failing.out"}}};

bool fails(std::int64_t block) {
  return block % kEvery == 1;
}

Rig::Options failing(std::vector<StageLine> after, std::vector<std::string> publish) {
  Rig::Options o;
  o.block = kBlock;
  o.lanes = 3;
  o.stages = {{"failing", "{every: 5}"}};
  o.stages.insert(o.stages.end(), after.begin(), after.end());
  o.publish = std::move(publish);
  return o;
}

std::uint64_t counted(Rig& rig, const char* stage, const char* event) {
  return rig.counters.tallies.at({stage, event}).value();
}

/// The next message reports the samples as a gap, and they count as dropped by a stage.
TEST(MissingPorts, ABlockThatIsMissingIsAGap) {
  Rig rig(failing({}, {"failing.out"}), {{{{.samples = kBlock * kBlocks}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.records[0].sent.size(), 16u);
  EXPECT_EQ(rig.drops(Drop::stage), 4u * kBlock);
  EXPECT_EQ(rig.drops(Drop::refused), 0u);
  EXPECT_EQ(counted(rig, "failing", "failures"), 4u) << "its own tally counts";
}

/// What does not depend on the stage is published; what does is missing, through several stages.
TEST(MissingPorts, OnlyWhatDependsOnItIsMissing) {
  const std::vector<StageLine> after{kWindow,
                                     {"sum", "{}", "", {{"in0", "window.out"}, {"in1", "source"}}},
                                     {"parity", "{}", "", {{"", "failing.out"}}},
                                     {"parity", "{}", "all", {{"", "source"}}}};
  Rig rig(failing(after, {"source", "sum.out"}), {{{{.samples = kBlock * kBlocks}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous(0);
  EXPECT_EQ(rig.records[0].sent.size(), 20u);
  EXPECT_EQ(rig.records[1].sent.size(), 16u);
  EXPECT_EQ(rig.drops(Drop::stage), 4u * kBlock);
  const auto words = [&](const char* stage) {
    return rig.counters.tallies.at({stage, "even", "row", "first"}).value() +
           rig.counters.tallies.at({stage, "odd", "row", "first"}).value();
  };
  EXPECT_EQ(words("parity"), 16u * kBlock) << "tallies made of what is missing do not count";
  EXPECT_EQ(words("all"), 20u * kBlock);
}

/// The past of the next block was computed again, so it holds the samples of that block.
TEST(MissingPorts, TheNextBlockHasItsPast) {
  Rig rig(failing({kWindow}, {"window.out"}), {{{{.samples = kBlock * kBlocks}}}});
  rig.run();
  Rig::Options all;
  all.stages = {{"window", "{past: 3}"}};
  all.publish = {"window.out"};
  Rig whole(all, {{{{.samples = kBlock * kBlocks}}}});
  whole.run();
  std::size_t at = 0;
  for (const Sent& s : whole.records[0].sent) {
    if (fails(s.sample / kBlock)) continue;
    ASSERT_LT(at, rig.records[0].sent.size());
    EXPECT_EQ(rig.records[0].sent[at++].payload, s.payload) << "at " << s.sample;
  }
}

/// State does not continue over a block that is missing, nor does it include that block's zeros.
TEST(MissingPorts, StateRestartsAfterIt) {
  for (const char* reader : {"running.out", "window.out"}) {
    Rig rig(failing({{"running", "{}", "", {{"", "failing.out"}}}, {"window", "{past: 2}"}}, {"running.out", reader}),
            {{{{.samples = kBlock * kBlocks}}}});
    rig.run();
    rig.expect_conserved();
    EXPECT_EQ(rig.records[0].sent.size(), 16u);
    std::uint32_t sum = 0;
    for (const Sent& s : rig.records[0].sent) {
      if (s.gap > 0) sum = 0;
      const std::vector<Word> words = s.as<Word>();
      for (std::int64_t n = 0; n < s.extent; ++n)
        ASSERT_EQ(words[static_cast<std::size_t>(n)],
                  static_cast<Word>(sum += static_cast<std::uint32_t>(sample_word(s.sample + n, 0))))
            << "at " << s.sample + n;
    }
  }
}

/// A message that an outlet refuses in the same block does not count twice.
TEST(MissingPorts, ABlockCountsOnce) {
  Rig rig(failing({}, {"failing.out", "source"}), {{{{.samples = kBlock * kBlocks}}}});
  rig.records[1].refuse = [](const Message& m) { return (m.sample / kBlock) % 3 == 0; };
  rig.run();
  rig.expect_conserved();
  EXPECT_EQ(rig.drops(Drop::stage), 4u * kBlock);    // 1, 6, 11, 16
  EXPECT_EQ(rig.drops(Drop::refused), 6u * kBlock);  // 0, 3, 9, 12, 15, 18, not 6
}

/// A device computes what follows; its results are missing as well.
TEST(MissingPorts, ADeviceMayFollow) {
  Rig::Options o = failing({kWindow, {"running"}}, {"window.out", "running.out", "source"});
  o.stages.front().side = Side::host;
  o.devices = {make_devices(1).front()};
  Rig rig(o, {{{{.samples = kBlock * kBlocks}}}});
  rig.run();
  rig.expect_conserved();
  EXPECT_EQ(rig.records[0].sent.size(), 16u);
  EXPECT_EQ(rig.records[1].sent.size(), 16u);
  EXPECT_EQ(rig.records[2].sent.size(), 20u);
}

}  // namespace
}  // namespace iqd::testing
