// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace iqd {
namespace {

TEST(RateLimit, OneASecondAndTheOthersAreCounted) {
  log::RateLimit limit;
  std::uint64_t suppressed = 99;
  EXPECT_TRUE(limit.allow(suppressed));
  EXPECT_EQ(suppressed, 0u);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limit.allow(suppressed));
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  EXPECT_TRUE(limit.allow(suppressed));
  EXPECT_EQ(suppressed, 1000u);
  EXPECT_EQ(log::more_times(suppressed), " (1000 more times since the last line)");
  EXPECT_EQ(log::more_times(1), " (1 more time since the last line)");
  EXPECT_EQ(log::more_times(0), "");
  EXPECT_FALSE(limit.allow(suppressed));
}

TEST(RateLimit, OneOfManyThreadsGetsThrough) {
  log::RateLimit limit;
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::uint64_t suppressed = 0;
      for (int i = 0; i < 500; ++i) allowed += limit.allow(suppressed);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(allowed, 1);
}

TEST(Log, LinesAreCounted) {
  const auto before = log::lines();
  log::debug("tests the count of lines: {}", 1);
  log::info("tests the count of lines: {}", 2);
  EXPECT_EQ(log::lines(), before + 2);
}

}  // namespace
}  // namespace iqd
