// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sizing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mirror_ring.hpp"
#include "config/document.hpp"
#include "pipeline/engine/ring_layout.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A correct file, and the plan of its only pipeline.
struct Sized {
  explicit Sized(const std::string& text) {
    const Document document = parse_document(text, "x.yaml", problems);
    spec = read_spec(document, test_catalogue(), problems);
    plan = make_plan(first(), first().source->describe(*first().source_section), test_catalogue(), target_of(first()),
                     outputs, problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
  }
  PipelineSpec& first() { return spec.pipelines.at(0); }
  Sizing sizing(const StreamInfo& stream, const Circumstances& circumstances = {}) {
    return size_up(first(), plan, stream, outputs, circumstances);
  }
  Problems problems;
  Spec spec;
  std::vector<OutputIndex> outputs;
  Plan plan;
};

const StreamInfo kTape{.element = Element::i32, .rate_hz = 1e6, .can_wait = true};
const StreamInfo kRadio{.element = Element::i32, .rate_hz = 1e6};

const Need& need(const Sizing& sizing, std::string_view what) {
  static const Need none;
  for (const Need& n : sizing.needs)
    if (n.what.find(what) != std::string::npos) return n;
  ADD_FAILURE() << "nothing needs memory for '" << what << "'";
  return none;
}

TEST(Sizing, FitsTheRingToWhatIsAtWork) {
  Sized file(
      "source: {tape: {}}\nblock: 1000\nlanes: 2\nstages:\n  - window: {past: 100, future: 10}\n"
      "publish:\n  - {port: window, topic: a, bind: x}\n");
  const Sizing tape = file.sizing(kTape);
  EXPECT_EQ(tape.engine.lanes, 2);
  EXPECT_EQ(tape.engine.ring_samples, 128 + 10 + 4 * 1000) << "past in whole 128 bytes, future, lanes and two more";
  EXPECT_EQ(tape.engine.slots, 32);
  EXPECT_EQ(tape.slot_bytes, file.plan.slot_bytes * 32);
  EXPECT_EQ(tape.arena_bytes, file.plan.arena_bytes[0] * 2);
  EXPECT_EQ(file.sizing(kRadio).engine.ring_samples, 100'000) << "a tenth of a second";
  EXPECT_EQ(file.sizing({.element = Element::i32, .rate_hz = 1e9}).engine.ring_samples, 8 << 20) << "32 MiB at most";
  EXPECT_EQ(file.sizing(kTape, {.ring_samples = 200'000}).engine.ring_samples, 200'000) << "as a reload asks for";
}

TEST(Sizing, LargeResultsGetFewerSlots) {
  Sized file("source: {tape: {}}\nblock: 4194304\nlanes: 3\npublish:\n  - {port: source, topic: a, bind: x}\n");
  EXPECT_EQ(file.sizing(kTape).engine.slots, 7) << "lanes and four more";
}

TEST(Sizing, ListsEverythingOnce) {
  Sized file(
      "source: {tape: {}}\nblock: 65536\nlanes: 2\nstages:\n  - window: {past: 100}\n"
      "publish:\n  - {port: window, topic: a, bind: x}\n"
      "sinks:\n  - {port: window, drain: {path: y}}\n");
  const Sizing sizing = file.sizing(kTape, {.plan_bytes = 12'345});
  EXPECT_EQ(need(sizing, "ring").bytes, sizing.ring_bytes);
  EXPECT_GE(sizing.ring_bytes, 4u * 65536 * 4);
  EXPECT_EQ(need(sizing, "result slots").bytes, sizing.slot_bytes);
  EXPECT_EQ(need(sizing, "spill buffer").bytes, 65536u * 4) << "of one channel";
  EXPECT_EQ(need(sizing, "plan").bytes, 12'345u);
  EXPECT_GT(need(sizing, "sink drain").bytes, 0u);
  EXPECT_EQ(need(sizing, "sink drain").threads, 1);
  EXPECT_EQ(need(sizing, "2 lanes").threads, 2);
  std::size_t sum = 0;
  for (const Need& n : sizing.needs) sum += n.bytes;
  EXPECT_EQ(sizing.bytes(), sum);
  EXPECT_EQ(sizing.resident(), sum + sizing.seen_twice);
  EXPECT_GE(sizing.addresses, sum + sizing.ring_bytes);
}

TEST(Sizing, LockedMemoryIsResidentAsAWhole) {
  Sized file("source: {tape: {}}\nblock: 65536\nlanes: 2\npublish:\n  - {port: source, topic: a, bind: x}\n");
  const Sizing loose = file.sizing(kTape), locked = file.sizing(kTape, {.locked = true});
  EXPECT_EQ(locked.seen_twice, locked.ring_bytes);
  EXPECT_LT(loose.seen_twice, loose.ring_bytes);
  EXPECT_GT(need(locked, "stacks").bytes, 10 * need(loose, "stacks").bytes);
}

/// The pages of the second mapping that the windows of a stream touch, found by walking through the ring.
std::size_t touched(const Plan& plan, const RingLayout& ring) {
  const auto size = static_cast<std::int64_t>(size_of(plan.ports.front().shape.element));
  const auto row = static_cast<std::int64_t>(ring.row_bytes);
  const Reach reach = plan.window();
  std::int64_t over = 0;
  for (std::int64_t b = 1000; b < 1000 + row; ++b) {
    const std::int64_t begin = (b * plan.block - reach.past) * size % row;
    over = std::max(over, begin + (reach.past + plan.block + reach.future) * size - row);
  }
  const auto page = static_cast<std::int64_t>(MirrorRing::page_bytes());
  return ring.rows * static_cast<std::size_t>((std::max<std::int64_t>(over, 0) + page - 1) / page * page);
}

TEST(RingLayout, KnowsWhatIsSeenTwice) {
  for (const std::string block : {"1000", "1024", "4096", "5000"})
    for (const std::string reach : {"past: 0", "past: 100", "future: 700", "past: 3000, future: 5"}) {
      Sized file("source: {tape: {channels: 2}}\nblock: " + block + "\nstages:\n  - window: {" + reach +
                 "}\npublish:\n  - {port: window, topic: a, bind: x}\n");
      for (const std::int64_t samples : {8192, 20'000, 33'333}) {
        const RingLayout ring = ring_layout(file.plan, samples);
        EXPECT_EQ(ring.seen_twice, touched(file.plan, ring)) << block << ", " << reach << ", " << samples;
      }
    }
}

TEST(RingLayout, WhatNoMachineHasIsTheLargestNumber) {
  Sized file("source: {tape: {}}\npublish:\n  - {port: source, topic: a, bind: x}\n");
  EXPECT_EQ(ring_layout(file.plan, std::int64_t{1} << 62).bytes(), HostLimits::kNone);
}

TEST(Sizing, SocketsAndFilesGoOnOverAReload) {
  Sizing now, next;
  now.needs = {{.what = "ring", .bytes = 10}, {.what = "socket a", .threads = 3, .files = 10, .shared = true}};
  next.needs = {{.what = "ring", .bytes = 10},
                {.what = "socket a", .threads = 3, .files = 10, .shared = true},
                {.what = "socket b", .threads = 3, .files = 7, .shared = true}};
  EXPECT_EQ(beside(next, now).files(), 7u);
  EXPECT_EQ(beside(next, now).bytes(), 10u) << "both rings exist for a while";
  EXPECT_EQ(beside(next, {}).files(), 17u);
}

TEST(Sizing, MemoryThatCannotBeHadHasAName) {
  try {
    asking_for("lab: the ring", [] { throw std::bad_alloc(); });
    FAIL();
  } catch (const SetupError& e) {
    EXPECT_STREQ(e.what(), "lab: the ring: cannot allocate that much memory");
  }
  EXPECT_EQ(asking_for("", [] { return 3; }), 3);
}

// --- limits that are exceeded ----------------------------------------------------------------------------------------

struct Limited : ::testing::Test {
  Sized file{"source: {tape: {}}\nblock: 1000000\nlanes: 2\npublish:\n  - {port: source, topic: a, bind: x}\n"};
  Sizing sizing;
  Allowance allowance;
  Limited() {
    sizing.engine.lanes = 2;
    sizing.needs = {{"2 lanes", 8'000'000, 0, 2}, {"ring", 16'000'000}, {"result slots", 24'000'000}, {"x", 100'000}};
    sizing.addresses = 60'000'000;
    allowance.left = {};
  }
  std::string problem() {
    Problems problems;
    file.first().section = Section("", {"x.yaml", 1, 1}, problems);
    check_limits(file.first(), sizing, allowance);
    EXPECT_LE(problems.size(), 1u);
    return problems.empty() ? "" : problems.front().what;
  }
};

TEST_F(Limited, SaysTheSumAndWhatItIsOf) {
  allowance.left.memory = 48'100'000;
  EXPECT_EQ(problem(), "") << "fits exactly";
  allowance.left.memory = 47'000'000;
  EXPECT_EQ(problem(),
            "blocks of 1000000 samples and 2 lanes need 48 MB (result slots 24, ring 16, 2 lanes 8), but 47 MB are "
            "free; use a smaller block or fewer lanes");
  allowance.left.group = "/sys/fs/cgroup/memory.max";
  EXPECT_THAT(problem(), HasSubstr("47 MB are left below /sys/fs/cgroup/memory.max;"));
}

TEST_F(Limited, PipelinesShareWhatThereIs) {
  allowance.left.memory = 90'000'000;
  allowance.promise(sizing);
  EXPECT_THAT(problem(), HasSubstr("42 MB are free beside the 48 MB of other pipelines"));
  allowance.take_back(sizing);
  EXPECT_EQ(problem(), "");
}

TEST_F(Limited, KnowsWhatMayBeMappedAndLocked) {
  allowance.left.addresses = 59'000'000;
  EXPECT_THAT(problem(), AllOf(HasSubstr("need 60 MB"), HasSubstr("59 MB may still be mapped (`ulimit -v`")));
  allowance.left = {};
  allowance.left.locked = 59'000'000;
  EXPECT_EQ(problem(), "") << "nothing is locked";
  file.first().realtime.lock_memory = true;
  EXPECT_THAT(problem(), HasSubstr("59 MB may still be locked (`ulimit -l`"));
  allowance.left.locked = std::nullopt;
  EXPECT_EQ(problem(), "") << "the system refuses to lock at all, and the pipeline runs without";
}

TEST_F(Limited, CountsDescriptorsAndThreads) {
  sizing.needs.push_back({"sockets", 0, 0, 300, 900});
  allowance.left.files = 900 + 64;
  EXPECT_EQ(problem(), "");
  allowance.left.files = 900 + 63;
  EXPECT_THAT(problem(), AllOf(HasSubstr("take 900 descriptors"), HasSubstr("963 may still be opened")));
  allowance.spare_files = 0;
  EXPECT_EQ(problem(), "") << "readers of the running pipeline have theirs already";
  allowance.left = {};
  allowance.left.threads = 301;
  EXPECT_THAT(problem(), AllOf(HasSubstr("take 302 threads"), HasSubstr("301 may still be started")));
}

}  // namespace
}  // namespace iqd::testing
