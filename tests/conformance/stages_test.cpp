// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Requirements on every stage on every backend. The tests go through stages.def, so a new stage needs no code here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/conformance/allocations.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kLength = 5003;  // prime, so that no block size divides it
constexpr std::int64_t kItems = 11;     // also prime, for stages whose items are arrays

struct StageCase {
  const StageEntry* entry;
  Element element;
  std::string backend;
};

void PrintTo(const StageCase& c, std::ostream* out) {
  *out << c.entry->name << " of " << name_of(c.element) << " on " << c.backend;
}

std::vector<StageCase> cases() {
  std::vector<std::string> backends{"cpu"};
  if (no_cuda().empty()) backends.push_back("cuda");
  std::vector<StageCase> all;
  for (const StageEntry& entry : all_stages())
    for (const Element element : entry.inputs.front().elements)
      for (const std::string& backend : backends)
        if (backend == "cpu" || !entry.host_only) all.push_back({&entry, element, backend});
  return all;
}

std::string stage_case_name(const ::testing::TestParamInfo<StageCase>& info) {
  return fmt::format("{}_{}_{}", info.param.entry->name, name_of(info.param.element), info.param.backend);
}

std::string all_of(const Problems& problems) {
  std::string text;
  for (const Problem& p : problems) text += p.text() + "\n";
  return text;
}

class Conformance : public ::testing::TestWithParam<StageCase> {
 protected:
  static const InputSpec& input() { return GetParam().entry->inputs.front(); }
  static bool takes_items() { return input().items(); }
  static std::int64_t length() { return takes_items() ? kItems : kLength; }
  static std::int64_t block() { return takes_items() ? 2 : 1024; }
  static std::vector<int> channels() {
    return takes_items() || input().one_channel ? std::vector{1} : std::vector{1, 3};
  }
  std::unique_ptr<StageRunner> runner(std::int64_t block, Signal signal, int channels = 1) {
    const StageEntry& e = *GetParam().entry;
    problems_.clear();
    return std::make_unique<StageRunner>(e, keys_for(e, GetParam().element),
                                         inputs_for(e, GetParam().element, channels, length(), signal), block,
                                         GetParam().backend, problems_);
  }
  Problems problems_;
};

TEST_P(Conformance, SampleIsValid) {
  const auto r = runner(0, Signal::noise);
  ASSERT_TRUE(problems_.empty()) << all_of(problems_);
  EXPECT_FALSE(r->run().empty());
}

TEST_P(Conformance, MisspeltKeyIsRefusedWithItsPlace) {
  const StageEntry& e = *GetParam().entry;
  Problems problems;
  StageRunner r(e, "{bakend_: 1}", inputs_for(e, GetParam().element, 1, 16, Signal::noise), 0, "cpu", problems);
  EXPECT_NE(all_of(problems).find(fmt::format("{}:1:2 bakend_: unknown key", e.name)), std::string::npos)
      << all_of(problems);
}

/// Of levels, the last block's.
void keep_last(StageOutput& levels) {
  const auto item = static_cast<std::ptrdiff_t>(levels.shape.item_bytes());
  for (std::vector<std::byte>& bytes : levels.rows)
    if (std::ssize(bytes) > item) bytes.erase(bytes.begin(), bytes.end() - item);
  levels.length = std::min<std::int64_t>(levels.length, 1);
}

/// Tallies are added up over the blocks, and the last levels count, as in the daemon.
std::vector<StageOutput> added_up(std::vector<StageOutput> outputs, const StageEntry& entry) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (entry.outputs[o].levels) keep_last(outputs[o]);
    if (entry.outputs[o].tally.empty()) continue;
    std::vector<std::byte>& bytes = outputs[o].rows.front();
    const auto numbers = static_cast<std::size_t>(outputs[o].shape.item_size());
    std::vector<std::int64_t> counted(bytes.size() / sizeof(std::int64_t)), sum(numbers);
    std::memcpy(counted.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < counted.size(); ++i) sum[i % numbers] += counted[i];
    bytes.resize(numbers * sizeof(std::int64_t));
    std::memcpy(bytes.data(), sum.data(), bytes.size());
    outputs[o].length = 1;
  }
  return outputs;
}

TEST_P(Conformance, BlocksGiveWhatTheWholeGives) {
  for (const int channels : channels())
    for (const Signal signal : {Signal::noise, Signal::zeros, Signal::huge, Signal::odd}) {
      const auto whole = runner(0, signal, channels);
      ASSERT_TRUE(problems_.empty()) << all_of(problems_);
      if (whole->plan().steps.back().chunk_exempt) GTEST_SKIP() << "declares that blocks matter";
      const std::vector<StageOutput> expected = added_up(whole->run(), *GetParam().entry);
      const std::vector<std::int64_t> blocks{1, 7, 64, 1000, 1024, 4099}, of_items{1, 2, 5};
      for (const std::int64_t block : takes_items() ? of_items : blocks) {
        const auto cut = runner(block, signal, channels);
        if (!problems_.empty() && problems_.front().what.find("too few") != std::string::npos) continue;
        ASSERT_TRUE(problems_.empty()) << all_of(problems_);
        const std::vector<StageOutput> got = added_up(cut->run(), *GetParam().entry);
        for (std::size_t o = 0; o < expected.size(); ++o)
          EXPECT_LE(distance(expected[o], got[o]), GetParam().entry->tolerance)
              << expected[o].name << " in blocks of " << block << ", " << channels << " channel(s), signal "
              << static_cast<int>(signal);
      }
    }
}

/// The CPU's results are the reference, whichever way samples get to the device.
TEST_P(Conformance, AgreesWithTheCpu) {
  if (GetParam().backend == "cpu") GTEST_SKIP() << "the CPU is the reference";
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const StageEntry& e = *GetParam().entry;
  for (const int channels : channels())
    for (const Signal signal : {Signal::noise, Signal::zeros, Signal::huge, Signal::odd})
      for (const std::int64_t block : {block(), takes_items() ? 5 : std::int64_t{4099}})
        for (const MappedLimits mapped : {MappedLimits{kAll, kAll}, MappedLimits{0, 0}}) {
          const auto run = [&](const std::string& backend) {
            problems_.clear();
            StageRunner r(e, keys_for(e, GetParam().element),
                          inputs_for(e, GetParam().element, channels, length(), signal), block, backend, problems_,
                          {.mapped = mapped});
            EXPECT_TRUE(problems_.empty()) << all_of(problems_);
            return r.run();
          };
          const std::vector<StageOutput> expected = run("cpu"), got = run(GetParam().backend);
          for (std::size_t o = 0; o < expected.size(); ++o)
            EXPECT_LE(distance(expected[o], got[o]), e.tolerance)
                << expected[o].name << " in blocks of " << block << ", " << channels << " channel(s), signal "
                << static_cast<int>(signal) << (mapped.in > 0 ? ", in place" : ", copied");
        }
}

/// A captured graph gives the same results as steps queued one by one; so capturing must neither allocate nor wait.
TEST_P(Conformance, CanBeCaptured) {
  if (GetParam().backend == "cpu") GTEST_SKIP() << "nothing is captured on the CPU";
  const auto plain = runner(block(), Signal::noise), captured = runner(block(), Signal::noise);
  ASSERT_TRUE(problems_.empty()) << all_of(problems_);
  for (SampleIndex first = 0; first < 4 * block(); first += block()) captured->rehearse(first, block());
  EXPECT_EQ(plain->graphs(), 0u);
  EXPECT_EQ(captured->graphs(), captured->plan().sequential() ? 0u : 4u);
  const std::vector<StageOutput> expected = plain->run(), got = captured->run();
  for (std::size_t o = 0; o < expected.size(); ++o) EXPECT_EQ(distance(expected[o], got[o]), 0) << expected[o].name;
}

/// Hidden state would show if blocks were processed in another order.
TEST_P(Conformance, OrderOfBlocksDoesNotMatter) {
  const std::int64_t block = this->block();
  const auto forward = runner(block, Signal::noise);
  ASSERT_TRUE(problems_.empty()) << all_of(problems_);
  if (forward->plan().sequential()) GTEST_SKIP() << "a sequential stage: its order is kept";
  const auto take = [&](StageRunner& r, std::int64_t first) {
    r.set_block(first, std::min(block, length() - first));
    r.run_block();
    std::vector<std::byte> bytes;
    for (std::size_t o = 0; o < r.plan().outputs.size(); ++o) {
      const BlockWork::Output out = r.work().output(o);
      const auto size =
          out.extent * r.plan().ports[static_cast<std::size_t>(r.plan().outputs[o].port)].shape.item_bytes();
      bytes.insert(bytes.end(), out.data, out.data + size);
    }
    return bytes;
  };
  std::vector<std::vector<std::byte>> expected;
  for (std::int64_t first = 0; first < length(); first += block) expected.push_back(take(*forward, first));
  const auto backward = runner(block, Signal::noise);
  for (auto b = static_cast<std::int64_t>(expected.size()) - 1; b >= 0; --b)
    EXPECT_EQ(take(*backward, b * block), expected[static_cast<std::size_t>(b)]) << "block " << b;
}

TEST_P(Conformance, SteadyStateAllocatesNothing) {
  if (!can_count_allocations()) GTEST_SKIP() << "the sanitizer has its own allocator";
  const auto r = runner(block(), Signal::noise);
  ASSERT_TRUE(problems_.empty()) << all_of(problems_);
  r->set_block(0, block());
  r->run_block();
  const std::uint64_t before = allocations();
  for (int i = 0; i < 3; ++i) {
    r->set_block(block(), block());
    r->run_block();
  }
  EXPECT_EQ(allocations() - before, 0u);
}

TEST_P(Conformance, EmptyAndShortInputs) {
  const StageEntry& e = *GetParam().entry;
  for (const std::int64_t length : {0, 1, 2, 3}) {
    Problems problems;
    StageRunner r(e, keys_for(e, GetParam().element),
                  inputs_for(e, GetParam().element, std::min(2, channels().back()), length, Signal::noise), 0,
                  GetParam().backend, problems);
    if (!problems.empty()) {
      EXPECT_NE(problems.front().what.find("too few"), std::string::npos) << problems.front().text();
      continue;
    }
    for (const StageOutput& out : r.run()) EXPECT_EQ(out.rows.size(), static_cast<std::size_t>(out.shape.row_count()));
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, Conformance, ::testing::ValuesIn(cases()), stage_case_name);

TEST(Cuda, IsTested) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO STAGE WAS TESTED ON CUDA: " << why;
}

}  // namespace
}  // namespace iqd::conformance
