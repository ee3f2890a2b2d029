// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// Cases that the simulated USRP of tests/system/uhd_test.py does not produce.
#include "radio/uhd/uhd_source.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>

namespace iqd::radio::usrp {
namespace {

using Event = Received::Event;
using Metadata = uhd::rx_metadata_t;

Event event_of(Metadata::error_code_t code, bool out_of_sequence = false) {
  Metadata metadata;
  metadata.error_code = code;
  metadata.out_of_sequence = out_of_sequence;
  return usrp::event_of(metadata);
}

TEST(UhdEvents, LossOnTheWayIsToldFromOverflow) {
  EXPECT_EQ(event_of(Metadata::ERROR_CODE_OVERFLOW), Event::overflow);
  EXPECT_EQ(event_of(Metadata::ERROR_CODE_OVERFLOW, true), Event::sequence);
  EXPECT_EQ(event_of(Metadata::ERROR_CODE_BAD_PACKET), Event::sequence);
}

TEST(UhdEvents, ACommandThatCameTooLateIsLateAndATimeOutIsNothing) {
  EXPECT_EQ(event_of(Metadata::ERROR_CODE_TIMEOUT), Event::nothing);
  EXPECT_EQ(event_of(Metadata::ERROR_CODE_ALIGNMENT), Event::overflow);
  for (const auto code : {Metadata::ERROR_CODE_LATE_COMMAND, Metadata::ERROR_CODE_BROKEN_CHAIN})
    EXPECT_EQ(event_of(code), Event::late) << code;
}

TEST(UhdTime, WhatComesLateOrTwiceIsLeftOutUpToWhatIsDue) {
  const auto stale = [](std::int64_t time_ns, std::int64_t count) {
    return stale_samples(time_ns, 5'000'000'000, count, 1e6);
  };
  EXPECT_EQ(stale(5'000'000'000, 371), 0);
  EXPECT_EQ(stale(5'000'371'000, 371), 0) << "after a gap";
  EXPECT_EQ(stale(5'000'000'000 - 742'000, 371), 371) << "after the next packet";
  EXPECT_EQ(stale(5'000'000'000 - 371'000, 1000), 371) << "a duplicate, then the expected samples";
  EXPECT_EQ(stale(5'000'000'000 - 400, 371), 0) << "rounding";
  EXPECT_EQ(stale(4'800'000'000, 371), 0) << "the clock was set back";
}

TEST(UhdTime, AStartAtASecondIsTheNextFullOne) {
  EXPECT_EQ(ns_of(next_second(time_of(5'000'000'000))), 5'000'000'000);
  EXPECT_EQ(ns_of(next_second(time_of(5'000'000'001))), 6'000'000'000);
  EXPECT_EQ(ns_of(next_second(time_of(5'999'999'999))), 6'000'000'000);
}

TEST(UhdTime, IsKeptToTheNanosecond) {
  for (const std::int64_t ns : {0L, 1L, 999'999'999L, 1'700'000'000'123'456'789L}) EXPECT_EQ(ns_of(time_of(ns)), ns);
}

/// Arithmetic with it does not overflow, and it is still rejected as invalid.
TEST(UhdTime, OneThatCannotBeStaysFarAway) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t seconds : {Limits::max(), Limits::min(), std::int64_t{1} << 40}) {
    const std::int64_t ns = ns_of(uhd::time_spec_t(seconds, 0.5));
    EXPECT_EQ(ns > 0, seconds > 0);
    EXPECT_GT(std::abs(ns), 4'200'000'000'000'000'000) << "after the year 2100";
    EXPECT_LT(std::abs(ns), 4'600'000'000'000'000'000);
  }
}

TEST(UhdDevice, ClosingOneThatHangsIsNotWaitedForLong) {
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  auto closed = std::make_shared<std::atomic<bool>>(false);
  const auto start = std::chrono::steady_clock::now();
  close_in_time("uhd 'test'", [answered, closed] {
    answered.wait();
    *closed = true;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_FALSE(*closed);
  answer.set_value();
  while (!*closed) std::this_thread::yield();
}

}  // namespace
}  // namespace iqd::radio::usrp
