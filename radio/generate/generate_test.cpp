// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/generate/generate_source.hpp"

namespace iqd::radio::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Event = Received::Event;

GenerateOptions options(std::map<std::string, std::string> values) {
  GenerateOptions o;
  values.emplace("rate", "1e6");
  assign(o, values);
  return o;
}

TEST(Generate, DeliversZerosWithTimeUntilItsEnd) {
  const auto source = options({{"samples", "2500"}, {"channels", "2"}}).open();
  EXPECT_TRUE(source->info().can_wait);
  EXPECT_EQ(source->info().channels, 2);
  std::vector<cf32> a(1000, 1.0f), b(1000, 1.0f);
  std::byte* const into[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data())};
  const Received first = source->receive(into, 1000);
  EXPECT_EQ(first.samples, 1000);
  EXPECT_TRUE(first.has_time);
  EXPECT_LT(std::abs(first.time_ns - wall_ns()), 1'000'000'000);
  EXPECT_EQ(a, std::vector<cf32>(1000));
  EXPECT_EQ(b, std::vector<cf32>(1000));
  EXPECT_EQ(source->receive(into, 1000).time_ns, first.time_ns + 1'000'000);
  EXPECT_EQ(source->receive(into, 1000).samples, 500);
  EXPECT_EQ(source->receive(into, 1000).event, Event::end);
  EXPECT_EQ(source->receive(into, 1000).event, Event::end);
}

TEST(Generate, TimeBeginsWhenTheFirstSamplesAreAskedFor) {
  const auto source = options({{"pace", "true"}}).open();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::int64_t asked = wall_ns();
  std::vector<cf32> memory(1000);
  std::byte* const into[] = {reinterpret_cast<std::byte*>(memory.data())};
  EXPECT_GE(source->receive(into, 1000).time_ns, asked);
}

TEST(Generate, PacedItComesAtItsRate) {
  const auto source = options({{"samples", "1e5"}, {"pace", "true"}}).open();
  std::vector<cf32> memory(20'000);
  std::byte* const into[] = {reinterpret_cast<std::byte*>(memory.data())};
  const std::int64_t start = steady_ns();
  std::int64_t samples = 0;
  for (Received got; (got = source->receive(into, 20'000)).event != Event::end;) samples += got.samples;
  EXPECT_EQ(samples, 100'000);
  EXPECT_GT(steady_ns() - start, 90'000'000);
  EXPECT_LT(steady_ns() - start, 1'000'000'000);
}

TEST(Generate, AWaitThatIsTooLongForOneCallIsNothing) {
  const auto source = options({{"rate", "1"}, {"pace", "true"}}).open();
  cf32 sample;
  std::byte* const into[] = {reinterpret_cast<std::byte*>(&sample)};
  const std::int64_t start = steady_ns();
  EXPECT_EQ(source->receive(into, 1).event, Event::nothing);
  EXPECT_LT(steady_ns() - start, 500'000'000);
}

TEST(Generate, SamplesAreANumberOrUnlimited) {
  for (const std::string good : {"unlimited", "0", "12", "1e6"})
    EXPECT_THAT(complaints([&](const Section& s) { options({{"samples", good}}).describe(s); }), IsEmpty()) << good;
  for (const std::string bad : {"", "many", "-1", "1.5", "1e30", "12x", "nan"})
    EXPECT_THAT(complaints([&](const Section& s) {
                  options({{"samples", bad}}).describe(s);
                }),
                ElementsAre(HasSubstr("unlimited")))
        << bad;
}

}  // namespace
}  // namespace iqd::radio::generate
