// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_outlet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <thread>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

struct SinkView {
  std::function<bool(const Message&)> take = [](const Message&) { return true; };
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // sample, gap
  std::int64_t samples = 0;
  std::atomic<int> calls{0};
  std::atomic<bool> finished{false}, interrupted{false}, door{true}, closing{false}, closes{true};
  std::atomic<int> leases{0};
  Bell bell;
  void open() {
    door = true;
    bell.ring();
  }
};

class TestSink final : public Sink {
 public:
  explicit TestSink(SinkView& view) : view_(view) {}
  ~TestSink() override {
    view_.closing = true;
    view_.bell.wait_until([this] { return view_.closes.load(); });
  }
  bool send(const Message& m) override {
    ++view_.calls;
    view_.bell.wait_until([this] { return view_.door || view_.interrupted; });
    if (!view_.take(m)) return false;
    view_.taken.push_back({m.sample, m.gap});
    view_.samples += m.samples;
    return true;
  }
  void finish() override { view_.finished = true; }
  void interrupt() noexcept override {
    view_.interrupted = true;
    view_.bell.ring();
  }

 private:
  SinkView& view_;
};

Lease lease_of(SinkView& view) {
  ++view.leases;
  return Lease([](void* v, int) noexcept { --static_cast<SinkView*>(v)->leases; }, &view, 0);
}

bool send(SinkOutlet& outlet, SinkView& view, std::int64_t i) {
  Message m;
  m.sample = 100 * i;
  return outlet.send(m, lease_of(view), false);
}

std::int64_t lost_after_all(SinkOutlet& outlet) {
  std::int64_t messages = 0;
  while (outlet.lost_after_all()) ++messages;
  return messages;
}

TEST(SinkOutlet, HandsOnInOrderAndFinishes) {
  SinkView view;
  {
    SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, {4});
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(send(outlet, view, i));
    outlet.finish();
    EXPECT_TRUE(view.finished);
    EXPECT_EQ(view.leases, 0) << "everything was released";
  }
  ASSERT_EQ(view.taken.size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(view.taken[i].first, 100 * static_cast<std::int64_t>(i));
}

TEST(SinkOutlet, ASinkThatDoesNotCloseKeepsNobodyElseWaiting) {
  SinkView view;
  view.closes = false;
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, {4},
                    [&] { return std::make_unique<TestSink>(view); });
  std::thread finisher([&] { outlet.finish(); });
  ASSERT_TRUE(Rig::eventually([&] { return view.closing.load(); }));
  EXPECT_EQ(outlet.counts().underflows, 0u);
  outlet.interrupt();
  const std::int64_t before = outlet.in_radio_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(outlet.in_radio_ns(), before + 5'000'000);
  view.closes = true;
  view.bell.ring();
  finisher.join();
  EXPECT_EQ(outlet.in_radio_ns(), 0);
}

TEST(SinkOutlet, WhateverASinkThrowsItIsClosedAndOpenedAgain) {
  SinkView view;
  view.take = [](const Message& m) -> bool {
    if (m.sample == 0) throw std::runtime_error("gone");
    if (m.sample == 100) throw 42;
    return true;
  };
  std::atomic<int> opened{0};
  SinkOutlet outlet(
      std::make_unique<TestSink>(view), "test", true, {4},
      [&]() -> std::unique_ptr<Sink> {
        if (++opened % 2 == 1) throw std::string("not yet");
        return std::make_unique<TestSink>(view);
      },
      1'000'000);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Rig::eventually([&] { return send(outlet, view, i); }));
    ASSERT_TRUE(Rig::eventually([&] { return opened == 2 * i + 2; })) << i;
  }
  ASSERT_TRUE(Rig::eventually([&] { return send(outlet, view, 2); }));
  outlet.finish();
  ASSERT_FALSE(view.taken.empty());
  EXPECT_EQ(view.taken[0].first, 200);
  EXPECT_EQ(view.leases, 0);
}

TEST(SinkOutlet, SlowSinkLosesTheNewestWhereTheStreamCannotWait) {
  SinkView view;
  view.door = false;
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", false, {4});
  ASSERT_TRUE(send(outlet, view, 0));
  ASSERT_TRUE(Rig::eventually([&] { return view.calls == 1; }));
  for (int i = 1; i <= 4; ++i) EXPECT_TRUE(send(outlet, view, i));
  for (int i = 5; i < 10; ++i) EXPECT_FALSE(send(outlet, view, i));
  EXPECT_EQ(view.leases, 5) << "refused messages are released at once";
  view.open();
  outlet.finish();
  EXPECT_EQ(view.taken.size(), 5u);
  EXPECT_EQ(view.leases, 0);
}

/// Messages of this size, each filled with its own number. Their slots are overwritten once released, and their engines
/// are gone by then.
struct Slots {
  Slots(SinkView& view, std::size_t bytes) : view(view), bytes(bytes) {}
  struct Slot {
    SinkView& view;
    std::vector<std::byte> payload;
    PortFormat format;
    static void give_back(void* slot, int) noexcept {
      Slot& s = *static_cast<Slot*>(slot);
      std::ranges::fill(s.payload, std::byte{0xee});
      s.format.port.clear();
      --s.view.leases;
    }
  };
  bool send(SinkOutlet& outlet, std::int64_t i) {
    Slot& slot = all.emplace_back(Slot{view, std::vector<std::byte>(bytes, static_cast<std::byte>(i)), {}});
    slot.format.port = "source";
    Message m;
    m.format = &slot.format;
    m.sample = i;
    m.payload = slot.payload;
    ++view.leases;
    return outlet.send(m, Lease(&Slot::give_back, &slot, 0), false);
  }
  bool is_whole(const Message& m) const {
    return m.format->port == "source" && m.payload.size() == bytes &&
           std::ranges::count(m.payload, static_cast<std::byte>(m.sample)) == std::ssize(m.payload);
  }
  SinkView& view;
  std::size_t bytes;
  std::deque<Slot> all{};
};

TEST(SinkOutlet, WhatMayWaitInMemoryDoesSoWithoutItsSlot) {
  constexpr std::size_t kMessageBytes = 1000;
  SinkView view;
  view.door = false;
  Slots slots(view, kMessageBytes);
  bool whole = true;
  view.take = [&](const Message& m) {
    whole = whole && slots.is_whole(m);
    return true;
  };
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", false, {2, 10 * kMessageBytes});
  const std::uint64_t lines = log::lines();
  ASSERT_TRUE(slots.send(outlet, 0));
  ASSERT_TRUE(Rig::eventually([&] { return view.calls == 1; }));
  for (int i = 1; i < 13; ++i) EXPECT_TRUE(slots.send(outlet, i)) << i;
  EXPECT_EQ(view.leases, 3) << "one in the sink, two held";
  EXPECT_EQ(log::lines() - lines, 1u) << "logged once, when half is full";
  for (int i = 13; i < 20; ++i) EXPECT_FALSE(slots.send(outlet, i)) << i;
  view.open();
  ASSERT_TRUE(Rig::eventually([&] { return view.calls == 13; }));
  view.door = false;
  for (int i = 20; i < 23; ++i) EXPECT_TRUE(slots.send(outlet, i)) << "there is room again";
  view.open();
  outlet.finish();
  EXPECT_TRUE(whole);
  ASSERT_EQ(view.taken.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(view.taken[i].first, static_cast<std::int64_t>(i < 13 ? i : i + 7));
  EXPECT_EQ(view.leases, 0);
}

TEST(SinkOutlet, WhatWaitsInMemoryIsRefusedWithTheRest) {
  SinkView view;
  view.door = false;
  view.take = [](const Message&) { return false; };
  Slots slots(view, 1000);
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", false, {2, 10'000});
  ASSERT_TRUE(slots.send(outlet, 0));
  ASSERT_TRUE(Rig::eventually([&] { return view.calls == 1; }));
  std::int64_t taken = 1;
  for (int i = 1; i < 20; ++i) taken += slots.send(outlet, i) ? 1 : 0;
  EXPECT_EQ(taken, 13);
  view.open();
  outlet.finish();
  EXPECT_EQ(lost_after_all(outlet), taken);
  EXPECT_EQ(view.leases, 0);
}

/// A sink that takes nothing for a while keeps the sender waiting, and gets everything.
void expect_waited_for(SinkHold hold, int messages) {
  SinkView view;
  view.door = false;
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, hold);
  std::atomic<int> sent{0};
  std::thread publisher([&] {
    for (int i = 0; i < messages; ++i, ++sent) EXPECT_TRUE(send(outlet, view, i));
  });
  ASSERT_TRUE(Rig::eventually([&] { return sent == 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(sent, 3) << "one in the sink, two held";
  view.open();
  publisher.join();
  outlet.finish();
  EXPECT_EQ(view.taken.size(), static_cast<std::size_t>(messages));
}

TEST(SinkOutlet, AStreamThatCanWaitIsNotCopied) {
  expect_waited_for({2, 1'000'000}, 20);
}

TEST(SinkOutlet, SlowSinkIsWaitedForWhereTheStreamCan) {
  expect_waited_for({2}, 50);
}

TEST(SinkOutlet, InterruptLetsAWaitingSendGo) {
  SinkView view;
  view.door = false;
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, {2});
  std::thread publisher([&] {
    int i = 0;
    while (send(outlet, view, i)) ++i;
  });
  ASSERT_TRUE(Rig::eventually([&] { return view.leases == 4; }));
  outlet.interrupt();
  publisher.join();
  outlet.finish();
  EXPECT_TRUE(view.interrupted);
  EXPECT_TRUE(view.finished);
  EXPECT_EQ(view.calls, 1) << "held messages are no longer sent";
  EXPECT_EQ(view.leases, 0);
}

TEST(SinkOutlet, FailedSinkGetsNothingMore) {
  SinkView view;
  view.take = [](const Message& m) -> bool {
    if (m.sample == 300) throw std::runtime_error("the disk is full");
    return true;
  };
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, {2});
  const std::uint64_t lines = log::lines();
  int taken = 0;
  for (int i = 0; i < 100; ++i) {
    taken += send(outlet, view, i) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  outlet.finish();
  EXPECT_EQ(view.taken.size(), 3u);
  EXPECT_EQ(view.calls, 4);
  EXPECT_LT(taken, 100);
  EXPECT_EQ(view.leases, 0);
  EXPECT_EQ(log::lines() - lines, 1u) << "logged once, not for every message";
}

TEST(SinkOutlet, ASinkThatThrewIsOpenedAgainAndTellsWhatIsMissing) {
  SinkView view;
  view.take = [&](const Message& m) -> bool {
    if (m.sample == 300) throw std::runtime_error("unplugged");
    return true;
  };
  std::atomic<int> opened{0};
  const auto reopen = [&]() -> std::unique_ptr<Sink> {
    if (++opened < 3) throw std::runtime_error("still unplugged");
    return std::make_unique<TestSink>(view);
  };
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", false, {8}, reopen, 1'000'000);
  std::int64_t sent = 0, refused = 0;
  for (; sent <= 3; ++sent) ASSERT_TRUE(send(outlet, view, sent));
  ASSERT_TRUE(Rig::eventually([&] {
    const bool taken = send(outlet, view, sent++);
    refused += taken ? 0 : 1;
    return taken && opened == 3;
  }));
  outlet.finish();
  ASSERT_EQ(opened, 3) << "with a pause after each failure";
  ASSERT_GE(view.taken.size(), 4u);
  EXPECT_EQ(view.taken[3].first - view.taken[3].second, 300) << "the gap before the first message after reopening";
  EXPECT_EQ(static_cast<std::int64_t>(view.taken.size()) + refused + lost_after_all(outlet), sent);
  EXPECT_EQ(view.leases, 0);
}

TEST(SinkOutlet, OneThatCannotBeOpenedAgainKeepsNobodyWaiting) {
  SinkView view;
  view.take = [](const Message&) -> bool { throw std::runtime_error("unplugged"); };
  const auto reopen = []() -> std::unique_ptr<Sink> { throw std::runtime_error("still unplugged"); };
  SinkOutlet outlet(std::make_unique<TestSink>(view), "test", true, {2}, reopen, 3'600'000'000'000);
  while (send(outlet, view, 0)) std::this_thread::yield();
  outlet.finish();
  EXPECT_EQ(view.leases, 0);
}

/// The block after a refusal reports it as a gap, and each refused block is counted as dropped.
TEST(SinkOutlet, RefusalsAreToldAndCounted) {
  SinkView view;
  view.take = [](const Message& m) { return m.sample % 2560 != 640 && m.sample % 2560 != 704; };
  Rig rig({}, {{{{.samples = 64 * 200}}}});
  rig.engine->routes()[0]->outlet =
      std::make_unique<SinkOutlet>(std::make_unique<TestSink>(view), "test", true, SinkHold{2});
  rig.run();
  rig.expect_conserved();
  std::int64_t expected = 0;
  for (const auto& [sample, gap] : view.taken) {
    EXPECT_EQ(sample, expected + gap);
    EXPECT_EQ(gap, sample % 2560 == 768 ? 128 : 0);
    expected = sample + 64;
  }
  EXPECT_EQ(view.taken.size(), 190u);
  EXPECT_EQ(rig.drops(Drop::refused), 10u * 64);
}

TEST(SinkOutlet, WhatIsLostBehindTheLastBlockIsCountedToo) {
  SinkView view;
  view.door = false;
  view.take = [](const Message& m) { return m.sample < 640; };
  Rig rig({}, {{{{.samples = 64 * 20}}}});
  const Route& route = *rig.engine->routes()[0];
  rig.engine->routes()[0]->outlet =
      std::make_unique<SinkOutlet>(std::make_unique<TestSink>(view), "test", false, SinkHold{2, 1'000'000});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.blocks.value() == 20; }));
  EXPECT_EQ(rig.counters.published_for_good(), 20u * 64);
  view.open();
  rig.engine->join();
  rig.expect_conserved();
  EXPECT_EQ(view.taken.size(), 10u);
  EXPECT_EQ(rig.counters.published_for_good(), 640u);
  EXPECT_EQ(rig.drops(Drop::refused), 640u);
  EXPECT_EQ(route.counts->messages.value() - route.counts->taken_back.value(), 10u);
  EXPECT_EQ(route.counts->refused.value(), 10u);
}

/// Two sinks of one engine lose blocks at different times, some of them the same.
TEST(SinkOutlet, ABlockThatTwoLoseCountsOnce) {
  SinkView first, second;
  first.door = false;
  first.take = [](const Message& m) { return m.sample >= 640; };
  second.take = [](const Message& m) { return m.sample < 320 || m.sample >= 960; };
  Rig::Options options;
  options.publish = {"source", "source"};
  Rig rig(options, {{{{.samples = 64 * 40}}}});
  rig.engine->routes()[0]->outlet =
      std::make_unique<SinkOutlet>(std::make_unique<TestSink>(first), "test", false, SinkHold{2, 1'000'000});
  rig.engine->routes()[1]->outlet =
      std::make_unique<SinkOutlet>(std::make_unique<TestSink>(second), "test", false, SinkHold{2, 1'000'000});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.blocks.value() == 40; }));
  first.open();
  rig.engine->join();
  rig.expect_conserved();
  EXPECT_EQ(first.samples, 30 * 64);
  EXPECT_EQ(second.samples, 30 * 64);
  EXPECT_EQ(rig.counters.published_for_good(), 25u * 64) << "the blocks that both have";
  EXPECT_EQ(rig.drops(Drop::refused), 15u * 64);
}

TEST(SinkOutlet, WhatIsLostCountsInItsOwnHeadersAlone) {
  SinkView view;
  std::vector<std::int64_t> dropped;
  view.take = [&](const Message& m) {
    dropped.push_back(m.dropped);
    return m.sample != 64;
  };
  Rig::Options options;
  options.publish = {"source", "source"};
  Rig rig(options, {{{{.samples = 64 * 4}}}});
  rig.engine->routes()[0]->outlet =
      std::make_unique<SinkOutlet>(std::make_unique<TestSink>(view), "test", true, SinkHold{2});
  rig.records[1].refuse = [](const Message& m) { return m.sample == 128; };
  rig.run();
  EXPECT_EQ(dropped, (std::vector<std::int64_t>{0, 0, 64, 64}));
  ASSERT_EQ(rig.records[1].sent.size(), 3u);
  EXPECT_EQ(rig.records[1].sent[1].dropped, 0);
  EXPECT_EQ(rig.records[1].sent[2].dropped, 64);
  rig.expect_conserved();
}

}  // namespace
}  // namespace iqd::testing
