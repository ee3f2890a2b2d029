// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_messages.hpp"

#include <gtest/gtest.h>

namespace iqd::hosts {
namespace {

SampleBlock some_block() {
  SampleBlock block;
  block.first = 123'456'789'012;
  block.length = 4096;
  block.past = 96;
  block.future = 3;
  block.gap = 7;
  block.fresh = true;
  block.dropped = 11;
  block.tuned = 123'456'789'100;
  block.retuned_hz = 1e6 / 3;
  block.was_retuned_hz = -0.1;
  block.calibrated = false;
  block.time_ns = 1'764'000'000'123'456'789;
  block.time = TimeSource::radio;
  return block;
}

TEST(PoolMessages, ABlockArrivesAsItWasSent) {
  const SampleBlock sent = some_block();
  const std::string message = block_head({"run", 42, "plan", sent}) + "samples";
  std::span<const std::byte> samples;
  const auto block = read_block(message, samples);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->run, "run");
  EXPECT_EQ(block->number, 42u);
  EXPECT_EQ(block->plan, "plan");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(samples.data()), samples.size()), "samples");
  const SampleBlock& got = block->block;
  EXPECT_EQ(got.first, sent.first);
  EXPECT_EQ(got.length, sent.length);
  EXPECT_EQ(got.past, sent.past);
  EXPECT_EQ(got.future, sent.future);
  EXPECT_EQ(got.gap, sent.gap);
  EXPECT_EQ(got.fresh, sent.fresh);
  EXPECT_EQ(got.dropped, sent.dropped);
  EXPECT_EQ(got.tuned, sent.tuned);
  EXPECT_EQ(got.retuned_hz, sent.retuned_hz);
  EXPECT_EQ(got.was_retuned_hz, sent.was_retuned_hz);
  EXPECT_EQ(got.calibrated, sent.calibrated);
  EXPECT_EQ(got.was_calibrated, sent.was_calibrated);
  EXPECT_EQ(got.time_ns, sent.time_ns);
  EXPECT_EQ(got.time, sent.time);
}

TEST(PoolMessages, RowsBeginAtAMultipleOf64) {
  for (std::size_t n = 0; n < 100; ++n)
    EXPECT_EQ(block_head({std::string(n, 'r'), 1, "plan", some_block()}).size() % 64, 0u);
}

std::string some_result(std::span<const std::size_t> bytes) {
  ResultHead head{"run", 42, "worker", "cpu", 1000, {}};
  head.ports.push_back({-5, 2, false, {}});
  head.ports.push_back({0, 1, true, {}});
  return result_head(head, bytes);
}

TEST(PoolMessages, AResultHasItsPorts) {
  const std::size_t bytes[] = {4, 3};
  const std::string message = some_result(bytes) + "abcdefg";
  const auto result = read_result(message);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->worker, "worker");
  EXPECT_EQ(result->compute_ns, 1000);
  ASSERT_EQ(result->ports.size(), 2u);
  EXPECT_EQ(result->ports[0].first, -5);
  EXPECT_EQ(result->ports[0].length, 2);
  EXPECT_FALSE(result->ports[0].is_missing);
  EXPECT_EQ(result->ports[0].data.size(), 4u);
  EXPECT_TRUE(result->ports[1].is_missing);
  EXPECT_EQ(static_cast<char>(result->ports[1].data[0]), 'e');
}

TEST(PoolMessages, LyingHeadersAreRefused) {
  const std::size_t longer[] = {4, 4};
  EXPECT_FALSE(read_result(some_result(longer) + "abcdefg")) << "rows are missing";
  const std::size_t overflow[] = {SIZE_MAX, 4};
  EXPECT_FALSE(read_result(some_result(overflow) + "abcdefg"));
  const std::string block = block_head({"run", 42, "plan", some_block()});
  std::span<const std::byte> samples;
  for (std::size_t n = 0; n < block.size(); ++n) {
    EXPECT_FALSE(n < 64 && read_block(block.substr(0, n), samples)) << n;
    read_result(block.substr(0, n));
  }
  for (const std::string& head :
       {std::string("{}"), std::string("[]"), std::string("null"), std::string(R"({"run":1})"), std::string("{"),
        std::string(R"({"run":"a","seq":-1,"plan":"b"})")}) {
    std::string message(4, '\0');
    message[0] = static_cast<char>(head.size());
    message += head;
    message.resize(128, '\0');
    EXPECT_FALSE(read_block(message, samples)) << head;
    EXPECT_FALSE(read_result(message)) << head;
    EXPECT_FALSE(read_here(head)) << head;
  }
}

TEST(PoolMessages, NumbersAreWholeAndOfTheirRange) {
  const std::string good = R"({"worker":"w","build":"b","device":"cpu","lanes":1,"busy":0,"done":1,"trouble":""})";
  ASSERT_TRUE(read_here(good));
  for (const char* lanes : {"1e30", "1.5", "-1e300", "4294967296", "\"1\"", "null", "[1]"}) {
    std::string text = good;
    text.replace(text.find("\"lanes\":1") + 8, 1, lanes);
    EXPECT_FALSE(read_here(text)) << lanes;
  }
}

TEST(PoolMessages, AReportArrives) {
  const auto here = read_here(here_text({"w1", "build", "cuda:0", 8, 3, 1234, "no memory"}));
  ASSERT_TRUE(here);
  EXPECT_EQ(here->worker, "w1");
  EXPECT_EQ(here->lanes, 8);
  EXPECT_EQ(here->busy, 3);
  EXPECT_EQ(here->done, 1234u);
  EXPECT_EQ(here->trouble, "no memory");
}

}  // namespace
}  // namespace iqd::hosts
