// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/held_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/slot_mask.hpp"

namespace iqd {
namespace {

/// A message in a slot; the slot is overwritten when its lease comes back.
struct Slot {
  explicit Slot(std::size_t bytes) : payload(bytes, std::byte{1}) { format.port = "source"; }
  bool put(HeldMessages& held, SampleIndex sample = 0) {
    Message m;
    m.format = &format;
    m.sample = sample;
    m.payload = payload;
    is_lent = true;
    return held.put(m, Lease(&Slot::give_back, this, 0));
  }
  static void give_back(void* slot, int) noexcept {
    Slot& s = *static_cast<Slot*>(slot);
    std::ranges::fill(s.payload, std::byte{0});
    s.format.port.clear();
    s.is_lent = false;
  }
  std::vector<std::byte> payload;
  PortFormat format;
  bool is_lent = false;
};

TEST(HeldMessages, AFewKeepTheirSlots) {
  HeldMessages held("test", {2});
  std::vector<Slot> slots(3, Slot(100));
  EXPECT_TRUE(slots[0].put(held, 10));
  EXPECT_TRUE(slots[1].put(held, 20));
  EXPECT_FALSE(held.may_keep_slot());
  EXPECT_FALSE(slots[2].put(held, 30)) << "nothing may be copied";
  EXPECT_TRUE(slots[1].is_lent);
  EXPECT_FALSE(slots[2].is_lent);
  HeldMessage taken;
  ASSERT_TRUE(held.take(taken));
  EXPECT_EQ(taken.message.sample, 10);
  EXPECT_EQ(taken.message.payload.data(), slots[0].payload.data());
  EXPECT_TRUE(held.may_keep_slot());
  taken = {};
  EXPECT_FALSE(slots[0].is_lent);
  held.hold_at_most(1);
  EXPECT_FALSE(held.may_keep_slot());
  ASSERT_TRUE(held.take(taken));
  EXPECT_EQ(taken.message.sample, 20);
  taken = {};
  EXPECT_FALSE(held.take(taken));
}

TEST(HeldMessages, MoreAreCopiedUpToALimit) {
  HeldMessages held("test", {1, 250});
  std::vector<Slot> slots(4, Slot(100));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(slots[i].put(held, static_cast<SampleIndex>(i)));
  EXPECT_FALSE(slots[3].put(held)) << "300 bytes";
  EXPECT_TRUE(slots[0].is_lent);
  EXPECT_FALSE(slots[1].is_lent) << "it was copied";
  HeldMessage taken;
  ASSERT_TRUE(held.take(taken));
  for (SampleIndex i = 1; i < 3; ++i) {
    taken = {};
    ASSERT_TRUE(held.take(taken));
    EXPECT_EQ(taken.message.sample, i);
    EXPECT_EQ(taken.message.format->port, "source") << "its slot and its engine may be gone";
    EXPECT_EQ(std::ranges::count(taken.message.payload, std::byte{1}), 100);
  }
}

TEST(HeldMessages, FactsStayWithTheirMessage) {
  HeldMessages held("test", {1, 10'000});
  std::string key = "metric";
  std::vector<float> metrics{1, 2, 3};
  std::vector<FactColumn> columns{{key, Element::f32, std::as_bytes(std::span(metrics)).data()}};
  Slot slot(30);
  Message m;
  m.format = &slot.format;
  m.payload = slot.payload;
  m.extent = 3;
  m.facts = columns;
  EXPECT_TRUE(held.put(m, Lease(&Slot::give_back, &slot, 0)));
  EXPECT_TRUE(held.put(m, {}));
  HeldMessage taken;
  ASSERT_TRUE(held.take(taken));
  EXPECT_EQ(taken.message.facts.data(), columns.data()) << "valid as long as the slot";
  taken = {};
  key = "------", metrics.assign(3, 0), columns.clear();
  ASSERT_TRUE(held.take(taken));
  ASSERT_EQ(taken.message.facts.size(), 1U);
  const FactColumn& copy = taken.message.facts.front();
  EXPECT_EQ(copy.key, "metric");
  const auto* values = reinterpret_cast<const float*>(copy.values);
  EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{1, 2, 3}));
}

TEST(HeldMessages, ItWarnsOnceMoreThanHalfIsUsed) {
  HeldMessages held("test", {0, 400});
  Slot slot(100);
  const std::uint64_t before = log::lines();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(slot.put(held));
  EXPECT_EQ(log::lines(), before);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(slot.put(held));
  EXPECT_EQ(log::lines(), before + 1);
}

TEST(HeldMessages, AFullQueueTakesNothing) {
  HeldMessages held("test", {1u << 20});
  EXPECT_EQ(held.capacity(), std::size_t{SlotMask::kMost});
  Slot slot(1);
  for (std::size_t i = 0; i < held.capacity(); ++i) EXPECT_TRUE(slot.put(held));
  EXPECT_TRUE(held.may_keep_slot());
  EXPECT_FALSE(slot.put(held));
  HeldMessage taken;
  while (held.take(taken)) taken = {};
}

}  // namespace
}  // namespace iqd
