// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/opening_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace iqd {
namespace {

using ::testing::HasSubstr;

TEST(OpeningWatch, TellsOthersWhoDoesNotComeBack) {
  OpeningWatch watch;
  std::string early, late;
  const int answer = watch.call("a: opening", 0.2, [&] {
    std::thread([&] {
      early = watch.overdue();
      while (late.empty()) late = watch.overdue();
    }).join();
    return 7;
  });
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(early, "") << "the call has just begun";
  EXPECT_THAT(late, HasSubstr("a: opening does not return; the limit is 0.2 s"));
  EXPECT_EQ(watch.overdue(), "") << "it has returned";
}

TEST(OpeningWatch, ACallThatThrowsIsOver) {
  OpeningWatch watch;
  EXPECT_THROW(watch.call("a", 0, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(watch.overdue(), "");
}

TEST(OpeningWatch, ItsTimeIsOfEachCall) {
  OpeningWatch watch;
  watch.call("a", 0, [&] { EXPECT_THAT(watch.overdue(), HasSubstr("a does not return")); });
  watch.call("b", 3600, [&] { EXPECT_EQ(watch.overdue(), ""); });
}

}  // namespace
}  // namespace iqd
