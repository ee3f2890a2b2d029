// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/slot_mask.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

namespace iqd {
namespace {

TEST(SlotMask, GivesEachSlotOnce) {
  for (const int slots : {1, 2, 7, 63, 64, 65, 200, 512}) {
    SlotMask mask(slots);
    EXPECT_EQ(mask.slots(), slots);
    std::set<int> taken;
    for (int i = 0; i < slots; ++i) {
      EXPECT_EQ(mask.available(), slots - i);
      const int slot = mask.try_acquire();
      EXPECT_GE(slot, 0);
      EXPECT_LT(slot, slots);
      EXPECT_TRUE(taken.insert(slot).second);
    }
    EXPECT_EQ(mask.try_acquire(), -1);
    mask.release(slots - 1);
    EXPECT_EQ(mask.try_acquire(), slots - 1);
  }
}

TEST(SlotMask, NoTwoThreadsHoldOneSlot) {
  constexpr int kSlots = 3;
  SlotMask mask(kSlots);
  std::array<std::int64_t, kSlots> owned{};  // not atomic: the slot is the lock
  std::array<std::atomic<bool>, kSlots> busy{};
  std::atomic<std::int64_t> taken{0};
  std::atomic<bool> clash{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const int slot = mask.try_acquire();
        if (slot < 0) continue;
        const auto s = static_cast<std::size_t>(slot);
        if (busy[s].exchange(true)) clash = true;
        ++owned[s];
        ++taken;
        busy[s] = false;
        mask.release(slot);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_FALSE(clash);
  EXPECT_EQ(owned[0] + owned[1] + owned[2], taken);
  EXPECT_EQ(mask.available(), kSlots);
}

}  // namespace
}  // namespace iqd
