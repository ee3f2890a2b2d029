// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/live_hub.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.hpp"

namespace iqd::live {
namespace {

using Viewer = LiveHub::Viewer;

LiveHub::Message row(int trace, std::string bytes = "row") {
  return {false, trace, std::move(bytes)};
}
LiveHub::Message text(std::string bytes) {
  return {true, LiveHub::Message::kForAll, std::move(bytes)};
}

TraceSet traces(std::initializer_list<std::size_t> numbers) {
  TraceSet set;
  for (const std::size_t n : numbers) set.set(n);
  return set;
}

std::vector<std::string> next(Viewer& viewer) {
  std::vector<LiveHub::Shared> out;
  EXPECT_TRUE(viewer.next(out));
  std::vector<std::string> all;
  for (const auto& message : out) all.push_back(message->bytes);
  return all;
}

using Texts = std::vector<std::string>;

TEST(LiveHub, AViewerIsGreetedAndThenGetsWhatItWants) {
  LiveHub hub;
  hub.put(row(0, "too early"));
  Viewer viewer(hub, traces({0, 2}));
  ASSERT_TRUE(viewer.is_in());
  EXPECT_TRUE(hub.is_watched());
  EXPECT_EQ(hub.wanted(), traces({0, 2}));
  hub.put(row(0, "before the greeting"));
  hub.greet({"hello", "log"});
  hub.put(row(1, "of others"));
  hub.put(row(2, "b"));
  hub.put(text("status"));
  hub.tell("more");
  EXPECT_EQ(next(viewer), (Texts{"hello", "log", "b", "status", "more"}));
  hub.greet({"hello again"});
  hub.put(row(0, "c"));
  EXPECT_EQ(next(viewer), Texts{"c"});
  EXPECT_EQ(hub.skipped(), 0u);
}

TEST(LiveHub, SilenceEndsAfterASecond) {
  LiveHub hub;
  Viewer viewer(hub, traces({0}));
  hub.greet({});
  const std::int64_t began = steady_ns();
  hub.put(row(1));
  EXPECT_EQ(next(viewer), Texts{});
  EXPECT_GE(steady_ns() - began, 990'000'000);
}

TEST(LiveHub, AViewerThatIsBehindContinuesAtTheNewestOfEachTrace) {
  LiveHub hub;
  Viewer viewer(hub, traces({0, 1}));
  hub.greet({"hello"});
  hub.put(row(1, "old density"));
  hub.tell("log");
  for (int i = 0; i < 60; ++i) hub.put(row(0, "row " + std::to_string(i)));
  hub.put(text("status 1"));
  hub.put(text("status 2"));
  EXPECT_EQ(next(viewer), (Texts{"hello", "old density", "log", "row 59", "status 2"}));
  EXPECT_EQ(hub.skipped(), 60u);
}

TEST(LiveHub, WhatOthersWantDoesNotMakeAViewerSlow) {
  LiveHub hub;
  Viewer viewer(hub, traces({0}));
  hub.greet({});
  for (int i = 0; i < 1000; ++i) {
    hub.put(row(5));
    if (i % 100 == 0) hub.put(row(0));
  }
  EXPECT_EQ(next(viewer).size(), 10u);
  EXPECT_EQ(hub.skipped(), 0u);
}

TEST(LiveHub, RowsAfterAHelloHaveItsNumbers) {
  LiveHub hub;
  Viewer viewer(hub, traces({0}));
  hub.greet({"hello"});
  hub.put(row(0, "before"));
  hub.tell("another hello");
  hub.put(row(0, "after"));
  EXPECT_EQ(next(viewer), (Texts{"hello", "before", "another hello", "after"}));
}

TEST(LiveHub, AViewerThatDoesNotComeHasABoundedQueue) {
  LiveHub hub;
  Viewer viewer(hub, traces({0, 1}));
  hub.greet({"hello"});
  for (int i = 0; i < 1000; ++i) hub.put(row(i % 2, "row " + std::to_string(i)));
  EXPECT_EQ(hub.skipped(), 744u) << "256 are kept";
  EXPECT_EQ(next(viewer), (Texts{"hello", "row 998", "row 999"}));
  EXPECT_EQ(hub.skipped(), 998u);
}

TEST(LiveHub, AViewerThatSleepsHoldsUpNobody) {
  LiveHub hub;
  Viewer sleeper(hub, traces({0})), other(hub, traces({0}));
  hub.greet({});
  std::size_t got = 0;
  std::thread reader([&] {
    std::vector<LiveHub::Shared> out;
    while (other.next(out)) got += out.size();
  });
  std::int64_t longest = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t began = steady_ns();
    hub.put(row(0, std::string(1064, 'x')));
    longest = std::max(longest, steady_ns() - began);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  hub.close();
  reader.join();
  EXPECT_GT(got, 1500u);
  EXPECT_LT(longest, 500'000'000) << "far less, but the machine may be busy";
}

TEST(LiveHub, ThereAreAtMost24Viewers) {
  LiveHub hub;
  std::vector<std::unique_ptr<Viewer>> all;
  for (std::size_t i = 0; i < LiveHub::kMostViewers; ++i) {
    all.push_back(std::make_unique<Viewer>(hub, traces({i})));
    EXPECT_TRUE(all.back()->is_in());
  }
  {
    const Viewer more(hub, traces({77}));
    EXPECT_FALSE(more.is_in());
    EXPECT_FALSE(hub.wanted().test(77));
    EXPECT_EQ(hub.viewers(), 24u);
  }
  EXPECT_EQ(hub.viewers(), 24u);
  all.pop_back();
  EXPECT_TRUE(Viewer(hub, {}).is_in());
}

TEST(LiveHub, CloseEndsAll) {
  LiveHub hub;
  Viewer one(hub, traces({0}));
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    hub.close();
  });
  std::vector<LiveHub::Shared> out;
  while (one.next(out)) {
  }
  closer.join();
  Viewer late(hub, traces({0}));
  EXPECT_FALSE(late.next(out));
  EXPECT_FALSE(hub.wait_for_viewer());
  EXPECT_FALSE(hub.pause(std::chrono::seconds(100)));
}

TEST(LiveHub, TheThreadSleepsUntilSomebodyLooks) {
  LiveHub hub;
  std::unique_ptr<Viewer> viewer;
  std::thread comer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    viewer = std::make_unique<Viewer>(hub, traces({3}));
  });
  EXPECT_TRUE(hub.wait_for_viewer());
  comer.join();
  EXPECT_EQ(hub.changes(), 1u);
  EXPECT_EQ(hub.wanted(), traces({3}));
}

TEST(LiveHub, AViewerThatIsTooSlowForTextsLeaves) {
  LiveHub hub;
  Viewer viewer(hub, {});
  hub.greet({"hello"});
  for (int i = 0; i < 300; ++i) hub.tell("line");
  std::vector<LiveHub::Shared> out;
  EXPECT_FALSE(viewer.next(out));
}

TEST(LiveHub, ManyViewersComeAndLeave) {
  LiveHub hub;
  std::atomic<bool> is_over{false};
  std::thread putter([&] {
    while (hub.wait_for_viewer() && !is_over) {
      hub.greet({"hello"});
      hub.put(row(0));
      hub.pause(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::thread> viewers;
  for (int v = 0; v < 8; ++v)
    viewers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Viewer viewer(hub, traces({0}));
        std::vector<LiveHub::Shared> out;
        ASSERT_TRUE(viewer.next(out));
        ASSERT_FALSE(out.empty());
        EXPECT_EQ(out.front()->bytes, "hello");
      }
    });
  for (auto& viewer : viewers) viewer.join();
  is_over = true;
  hub.close();
  putter.join();
  EXPECT_EQ(hub.viewers(), 0u);
}

}  // namespace
}  // namespace iqd::live
