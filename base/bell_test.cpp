// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/bell.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace iqd {
namespace {

TEST(Bell, ARingBetweenLookingAndWaitingIsNotMissed) {
  Bell bell;
  const Bell::Ticket heard = bell.listen();
  bell.ring();
  bell.wait(heard);  // would hang
  EXPECT_NE(bell.listen(), heard);
}

TEST(Bell, NoRingIsLostBetweenThreads) {
  constexpr int kRounds = 20'000;
  Bell there;
  Bell back;
  std::atomic<int> sent{0};
  std::atomic<int> answered{0};
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      there.wait_until([&] { return sent.load() >= i; });
      answered.store(i);
      back.ring();
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    sent.store(i);
    there.ring();
    back.wait_until([&] { return answered.load() >= i; });
  }
  other.join();
  EXPECT_EQ(answered.load(), kRounds);
}

TEST(Bell, WakesAllThatWait) {
  Bell bell;
  std::atomic<bool> open{false};
  std::atomic<int> through{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      bell.wait_until([&] { return open.load(); });
      ++through;
    });
  }
  open = true;
  bell.ring();
  for (auto& t : threads) t.join();
  EXPECT_EQ(through, 4);
}

}  // namespace
}  // namespace iqd
