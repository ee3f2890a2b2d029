// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/last_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "base/clock.hpp"

namespace iqd {
namespace {

using namespace std::chrono_literals;

/// Something that takes longer to close than iqd waits, after these signals; in its own process.
[[noreturn]] void close_slowly(std::int64_t asked_ns, int signals_more) {
  const Signals signals;
  {
    LastWatch watch(signals);
    watch.begin(asked_ns, Exit::configuration);
    for (int i = 0; i < signals_more; ++i) {
      ::kill(::getpid(), SIGTERM);
      std::this_thread::sleep_for(200ms);
    }
    std::this_thread::sleep_for(20s);
  }
  std::_Exit(77);
}

TEST(LastWatch, TheEndIsNoLaterThanPromised) {
  const std::int64_t began = steady_ns();
  EXPECT_EXIT(close_slowly(steady_ns() - 4'000'000'000, 0), ::testing::ExitedWithCode(2), "take too long to close");
  EXPECT_LT(steady_ns() - began, 5'000'000'000);
}

TEST(LastWatch, ASecondSignalEndsItAtOnce) {
  EXPECT_EXIT(close_slowly(steady_ns(), 1), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(close_slowly(0, 2), ::testing::ExitedWithCode(1), "");
}

TEST(LastWatch, WhatClosesInTimeEndsByItself) {
  const Signals signals;
  const std::int64_t began = steady_ns();
  {
    LastWatch watch(signals);
    watch.begin(steady_ns(), Exit::failed);
  }
  EXPECT_LT(steady_ns() - began, 4'000'000'000);
}

}  // namespace
}  // namespace iqd
