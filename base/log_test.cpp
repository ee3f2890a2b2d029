// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/log_terminal.hpp"

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

TEST(Log, OfALongLineTheBeginningIsKept) {
  std::string text = "x";
  while (text.size() < 5000) text += "ä";
  log::info("{}", text);
  const std::vector<log::Line> lines = log::lines_after(0, 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, text.substr(0, 4095) + "…") << "whole characters only";
}

TEST(Log, ALineComesBetweenErasingAndDrawingTheFooter) {
  struct Counter final : log::Footer {
    void erase() noexcept override { text += "e"; }
    void draw() noexcept override { text += "d"; }
    std::string text;
  };
  Counter footer;
  log::set_footer(&footer);
  log::warn("a line");
  log::debug("a line that is hidden");
  EXPECT_EQ(footer.text, "ed");
  log::between_lines([&] { footer.text += "b"; });
  log::set_footer(nullptr);
  log::warn("a line");
  EXPECT_EQ(footer.text, "edb");
}

TEST(Log, LinesBelowALevelAreHiddenUnlessAllWereAskedFor) {
  struct Counter final : log::Footer {
    void erase() noexcept override { ++lines; }
    void draw() noexcept override {}
    int lines = 0;
  };
  Counter footer;
  log::set_footer(&footer);
  log::hide_below(log::Level::error);
  log::warn("a line that is hidden");
  log::set_level(log::Level::debug);
  log::hide_below(log::Level::error);
  log::warn("a line");
  log::set_footer(nullptr);
  log::set_level(log::Level::info);
  EXPECT_EQ(footer.lines, 1);
}

}  // namespace
}  // namespace iqd
