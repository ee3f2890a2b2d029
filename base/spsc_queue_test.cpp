// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/spsc_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <thread>

namespace iqd {
namespace {

TEST(SpscQueue, DoesWhatADequeDoes) {
  for (const std::size_t capacity : {1u, 2u, 5u, 8u}) {
    SpscQueue<int> queue(capacity);
    EXPECT_GE(queue.capacity(), capacity);
    std::deque<int> model;
    std::mt19937 random(3);
    for (int i = 0; i < 5000; ++i) {
      if (random() % 2) {
        const bool room = model.size() < queue.capacity();
        ASSERT_EQ(queue.try_push(i), room);
        if (room) model.push_back(i);
      } else {
        int item = -1;
        ASSERT_EQ(queue.front() != nullptr, !model.empty());
        if (queue.front()) {
          ASSERT_EQ(*queue.front(), model.front());
        }
        ASSERT_EQ(queue.try_pop(item), !model.empty());
        if (model.empty()) continue;
        ASSERT_EQ(item, model.front());
        model.pop_front();
      }
      ASSERT_EQ(queue.size(), model.size());
    }
  }
}

TEST(SpscQueue, CarriesWhatCannotBeCopied) {
  SpscQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(7)));
  std::unique_ptr<int> item;
  EXPECT_TRUE(queue.try_pop(item));
  EXPECT_EQ(*item, 7);
}

TEST(SpscQueue, KeepsTheOrderBetweenThreads) {
  constexpr int kItems = 200'000;
  struct Item {
    int number = -1;
    int check = 0;
  };
  SpscQueue<Item> queue(16);
  std::thread producer([&] {
    for (int i = 0; i < kItems;) {
      if (queue.try_push({i, ~i})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  int wrong = 0;
  for (int i = 0; i < kItems;) {
    Item item;
    if (!queue.try_pop(item)) {
      std::this_thread::yield();
      continue;
    }
    wrong += item.number != i || item.check != ~i;
    ++i;
  }
  producer.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace iqd
