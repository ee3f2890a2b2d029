// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watch_outlet.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <numeric>
#include <thread>
#include <vector>

#include "pipeline/watch/bin_watch.hpp"
#include "pipeline/watch/item_watch.hpp"
#include "pipeline/watch/point_watch.hpp"
#include "pipeline/watch/sample_watch.hpp"

namespace iqd {
namespace {

constexpr double kOften = 1e9;  // every message

PortFormat format_of(Element element, std::vector<Dim> dims, int varying) {
  PortFormat format;
  format.port = "stage.out";
  format.element = element;
  format.dims = std::move(dims);
  format.varying = varying;
  format.rate_hz = format.item_rate_hz = 1000;
  return format;
}

/// A message with its own memory.
template <class T> struct Sent {
  Sent(const PortFormat& format, std::vector<T> payload, std::int64_t extent) : values(std::move(payload)) {
    message.format = &format;
    message.extent = extent;
    message.payload = std::as_bytes(std::span(values));
  }
  std::vector<T> values;
  Message message;
};

template <class T> std::vector<T> trace_of(const WatchOutlet& outlet, const WatchCopy& copy, std::int64_t trace) {
  const auto* const from = reinterpret_cast<const T*>(outlet.trace_in(copy, trace));
  return {from, from + copy.count};
}

PortFormat two_channels(std::int64_t most = 8) {
  return format_of(Element::cf32, {{"channel", 2}, {"n", most}}, 1);
}

std::vector<cf32> ramp(std::size_t n) {
  std::vector<cf32> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  return x;
}

template <class Outlet> std::unique_ptr<Outlet> ready(std::unique_ptr<Outlet> outlet) {
  outlet->reserve();
  return outlet;
}

TEST(WatchOutlet, WhileNobodyLooksItTouchesNothing) {
  const PortFormat format = two_channels();
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  Message message;  // has neither format nor payload: any access would end the test
  message.payload = {reinterpret_cast<const std::byte*>(1), 1'000'000};
  message.extent = 8;
  bool is_back = false;
  const auto give_back = [](void* flag, int) noexcept { *static_cast<bool*>(flag) = true; };
  EXPECT_TRUE(outlet->send(message, Lease(give_back, &is_back, 0), false));
  EXPECT_TRUE(is_back);
  EXPECT_FALSE(outlet->take());
}

TEST(WatchOutlet, CopiesTheLastSamplesOfTheWantedChannels) {
  const PortFormat format = two_channels(11);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  EXPECT_EQ(outlet->size(), 8);
  EXPECT_EQ(outlet->traces(), 2);
  outlet->want(0b10);
  Sent<cf32> sent(format, ramp(22), 11);
  sent.message.time_ns = 5'000'000;
  outlet->send(sent.message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->traces, 0b10U);
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 1).front(), cf32(14));
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 1).back(), cf32(21));
  EXPECT_EQ(copy->time_ns, 8'000'000) << "three samples of 1 ms later";
}

TEST(WatchOutlet, RowsOfAPayloadMayBeApart) {
  const PortFormat format = two_channels(4);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  outlet->want(0b11);
  Sent<cf32> sent(format, ramp(104), 4);  // as in the ring: the second row begins 100 samples later
  outlet->send(sent.message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 0).back(), cf32(3));
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 1).front(), cf32(100));
}

TEST(WatchOutlet, ABlockThatIsMuchTooShortIsNotShown) {
  const PortFormat format = format_of(Element::cf32, {{"n", 4096}}, 0);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{}, kOften));
  outlet->want(1);
  outlet->send(Sent<cf32>(format, ramp(4000), 4000).message, {}, false);
  EXPECT_FALSE(outlet->take());
  outlet->send(Sent<cf32>(format, ramp(4095), 4095).message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->count, 4096);
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 0)[4094], cf32(4094));
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 0)[4095], cf32(0));
}

TEST(WatchOutlet, GapsAndRetunesOfMessagesThatWereNotCopiedCount) {
  const PortFormat format = two_channels(4);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  outlet->want(1);
  Sent<cf32> sent(format, ramp(8), 4);
  for (int i = 0; i < 2; ++i) outlet->send(sent.message, {}, false);  // both buffers are full now
  sent.message.gap = 10;
  sent.message.tuned = 7;
  outlet->send(sent.message, {}, false);
  sent.message.tuned = -1;
  outlet->note_clipped(0b10);
  outlet->send(sent.message, {}, false);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(outlet->take());
    EXPECT_EQ(outlet->take()->gap, 0);
    outlet->give_back();
  }
  sent.message.gap = 0;
  outlet->send(sent.message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->gap, 20);
  EXPECT_TRUE(copy->retuned);
  EXPECT_EQ(copy->clipped, 0b10U);
}

TEST(WatchOutlet, ABlockOfTwoSettingsIsNotShown) {
  const PortFormat format = two_channels(4);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, 1e9));
  outlet->want(1);
  Sent<cf32> sent(format, ramp(8), 4);
  sent.message.sample = 1000;
  sent.message.tuned = 1001;
  outlet->send(sent.message, {}, false);
  EXPECT_FALSE(outlet->take());
  sent.message.sample = 1004;
  sent.message.tuned = -1;
  outlet->send(sent.message, {}, false);
  ASSERT_TRUE(outlet->take());
  EXPECT_TRUE(outlet->take()->retuned);
  outlet->give_back();
  sent.message.sample = sent.message.tuned = 1008;
  outlet->send(sent.message, {}, false);
  ASSERT_TRUE(outlet->take()) << "retuned at its first sample";
  EXPECT_TRUE(outlet->take()->retuned);
}

TEST(WatchOutlet, WhatHappenedBeforeSomebodyLookedIsForgotten) {
  const PortFormat format = two_channels(4);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  Sent<cf32> sent(format, ramp(8), 4);
  outlet->want(1);
  outlet->send(sent.message, {}, false);
  sent.message.payload = {};
  sent.message.gap = 1000;
  outlet->send(sent.message, {}, false);
  outlet->want(0);
  outlet->want(1);
  EXPECT_FALSE(outlet->take()) << "an old copy";
  Sent<cf32> next(format, ramp(8), 4);
  outlet->send(next.message, {}, false);
  ASSERT_TRUE(outlet->take());
  EXPECT_EQ(outlet->take()->gap, 0);
}

TEST(WatchOutlet, CopiesAtMostSoOften) {
  const PortFormat format = two_channels(4);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, 1e-3));
  outlet->want(1);
  Sent<cf32> sent(format, ramp(8), 4);
  int copies = 0;
  for (int i = 0; i < 1000; ++i) {
    outlet->send(sent.message, {}, false);
    for (; outlet->take(); outlet->give_back()) ++copies;
  }
  EXPECT_GE(copies, 1);
  EXPECT_LE(copies, 4);
}

TEST(WatchOutlet, BinsKeepTheLargestOfAllMessagesSinceTheLastCopy) {
  const PortFormat format = format_of(Element::f32, {{"channel", 2}, {"bin", 3}}, -1);
  const auto outlet = ready(std::make_unique<BinWatch>(format, std::vector<std::size_t>{0}, 1e-3));
  outlet->want(0b11);
  const auto send = [&](std::vector<float> values, std::int64_t gap = 0) {
    Sent<float> sent(format, std::move(values), 1);
    sent.message.gap = gap;
    outlet->send(sent.message, {}, false);
  };
  for (int i = 0; i < 4; ++i) {  // what may be taken at once
    send({0, 0, 0, 0, 0, 0});
    if (outlet->take()) outlet->give_back();
  }
  send({1, 2, NAN, 4, 5, -INFINITY});
  send({2, 1, 7, NAN, 6, -9});
  EXPECT_FALSE(outlet->take());
  send({9, 9, 9, 9, 9, 9}, 100);  // what was before a gap is a row of its own
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(trace_of<float>(*outlet, *copy, 0), (std::vector<float>{2, 2, 7}));
  EXPECT_EQ(trace_of<float>(*outlet, *copy, 1), (std::vector<float>{4, 6, -9}));
  EXPECT_EQ(copy->gap, 0);
}

TEST(WatchOutlet, ARetuneEndsARow) {
  const PortFormat format = format_of(Element::f32, {{"bin", 1}}, -1);
  const auto outlet = ready(std::make_unique<BinWatch>(format, std::vector<std::size_t>{}, 1e-3));
  outlet->want(1);
  Sent<float> sent(format, {1}, 1);
  for (int i = 0; i < 5; ++i) {
    outlet->send(sent.message, {}, false);
    if (outlet->take()) outlet->give_back();
  }
  sent.message.retuned_hz = 50;
  sent.message.tuned = 3;
  outlet->send(sent.message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->frequency_hz, 0);
  EXPECT_FALSE(copy->retuned) << "the next one is";
}

TEST(WatchOutlet, OfComplexBinsThePowerCounts) {
  const PortFormat format = format_of(Element::cf32, {{"frame", 16}, {"bin", 2}}, 0);
  const auto outlet = ready(std::make_unique<BinWatch>(format, std::vector<std::size_t>{}, kOften));
  outlet->want(1);
  Sent<cf32> sent(format, {{3, 4}, 1, {0, 1}, {1, 1}}, 2);
  outlet->send(sent.message, {}, false);
  ASSERT_TRUE(outlet->take());
  EXPECT_EQ(trace_of<float>(*outlet, *outlet->take(), 0), (std::vector<float>{25, 2}));
}

TEST(WatchOutlet, OfManyBinsFewerFramesCount) {
  constexpr std::int64_t kBins = BinWatch::kMostBins / 2;
  const PortFormat format = format_of(Element::f32, {{"frame", 8}, {"bin", kBins}}, 0);
  const auto outlet = ready(std::make_unique<BinWatch>(format, std::vector<std::size_t>{}, kOften));
  outlet->want(1);
  std::vector<float> bins(3 * kBins);
  bins[0] = 3;
  bins[kBins] = 2;
  outlet->send(Sent<float>(format, bins, 3).message, {}, false);
  ASSERT_TRUE(outlet->take());
  EXPECT_EQ(trace_of<float>(*outlet, *outlet->take(), 0).front(), 2) << "the last two";
}

TEST(WatchOutlet, SymbolsOfEachKindAreApart) {
  const PortFormat format = format_of(Element::cf32, {{"packet", 4}, {"kind", 2}, {"symbol", 3}}, 0);
  const std::optional<Watchable> how = watchable(format);
  ASSERT_TRUE(how);
  EXPECT_EQ(how->kind, WatchKind::symbols);
  const auto outlet = ready(std::make_unique<PointWatch>(format, *how, kOften));
  ASSERT_EQ(outlet->traces(), 2);
  outlet->want(0b11);
  outlet->send(Sent<cf32>(format, ramp(12), 2).message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 0), (std::vector<cf32>{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 1), (std::vector<cf32>{3, 4, 5, 9, 10, 11}));
}

TEST(WatchOutlet, OfManyValuesThoseAtEqualDistancesAreTaken) {
  PortFormat format = format_of(Element::i8, {{"packet", 1000}, {"bit", 100}}, 0);
  format.port = "stage.llr";
  const std::optional<Watchable> how = watchable(format);
  ASSERT_TRUE(how);
  EXPECT_EQ(how->kind, WatchKind::values);
  const auto outlet = ready(std::make_unique<PointWatch>(format, *how, kOften));
  outlet->want(1);
  std::vector<std::int8_t> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 50'000 ? -3 : 3;
  outlet->send(Sent<std::int8_t>(format, values, 1000).message, {}, false);
  ASSERT_TRUE(outlet->take());
  const std::vector<float> taken = trace_of<float>(*outlet, *outlet->take(), 0);
  ASSERT_EQ(taken.size(), static_cast<std::size_t>(PointWatch::kMostValues));
  EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0.0F), 0);
}

TEST(WatchOutlet, TheNewestItemsAreKept) {
  const PortFormat format = format_of(Element::u8, {{"packet", 100}, {"bit", 1}}, 0);
  const auto outlet = ready(std::make_unique<ItemWatch>(format, std::vector<std::string>{"noise"}, 1e-3));
  outlet->want(1);
  std::vector<float> noise(100);
  std::iota(noise.begin(), noise.end(), 0.0F);
  std::vector<std::int64_t> start(100);
  std::iota(start.begin(), start.end(), 0);
  Sent<std::uint8_t> sent(format, std::vector<std::uint8_t>(100), 100);
  const std::vector<FactColumn> facts{{"start", Element::i64, reinterpret_cast<const std::byte*>(start.data())},
                                      {"noise", Element::f32, reinterpret_cast<const std::byte*>(noise.data())}};
  sent.message.facts = facts;
  outlet->send(sent.message, {}, false);
  const WatchCopy* const copy = outlet->take();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->count, 100);
  ASSERT_EQ(ItemWatch::kept(*copy), 64);
  EXPECT_EQ(outlet->item(*copy, 0)[1], 36);
  EXPECT_EQ(outlet->item(*copy, 63)[1], 99);
  EXPECT_DOUBLE_EQ(outlet->item(*copy, 63)[0], 0.099) << "sample 99 of 1000 a second";
}

/// Messages with one item each, which have no facts.
struct OneItem : Sent<std::uint8_t> {
  explicit OneItem(const PortFormat& format) : Sent(format, {1}, 1) {}
};

TEST(WatchOutlet, TheEndOfABurstOfItemsDoesNotWaitForTheNextBurst) {
  const PortFormat format = format_of(Element::u8, {{"packet", 8}, {"bit", 1}}, 0);
  const auto outlet = ready(std::make_unique<ItemWatch>(format, std::vector<std::string>{}, 5));
  outlet->want(1);
  OneItem sent(format);
  std::int64_t items = 0;
  const auto send = [&] {
    outlet->send(sent.message, {}, false);
    for (; outlet->take(); outlet->give_back()) items += outlet->take()->count;
  };
  for (int i = 0; i < 6; ++i) send();
  EXPECT_LT(items, 6) << "as many as may be taken at once";
  sent.message.payload = {};
  sent.message.extent = 0;
  for (int i = 0; i < 200 && items < 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    send();
  }
  EXPECT_EQ(items, 6);
}

TEST(WatchOutlet, ItemsOfABlockWithARetuneAreShown) {
  const PortFormat format = format_of(Element::u8, {{"packet", 8}, {"bit", 1}}, 0);
  const auto outlet = ready(std::make_unique<ItemWatch>(format, std::vector<std::string>{}, kOften));
  outlet->want(1);
  OneItem sent(format);
  sent.message.sample = 1000;
  sent.message.tuned = 1001;
  outlet->send(sent.message, {}, false);
  ASSERT_TRUE(outlet->take());
  EXPECT_EQ(outlet->take()->count, 1);
  EXPECT_TRUE(outlet->take()->retuned);
}

TEST(WatchOutlet, HasAsManyTracesAsFitIntoItsBuffers) {
  const PortFormat many = format_of(Element::cf32, {{"channel", 100}, {"n", 65536}}, 1);
  EXPECT_EQ(SampleWatch(many, {0}, kOften).traces(), 64);
  const PortFormat large = format_of(Element::f32, {{"channel", 100}, {"bin", 1 << 18}}, -1);
  const BinWatch bins(large, {0}, kOften);
  EXPECT_EQ(bins.traces(), 4);
  EXPECT_LE(bins.bytes(), static_cast<std::size_t>(2 * WatchOutlet::kMostBytes));
}

/// Run with a thread sanitizer, too.
TEST(WatchOutlet, TwoThreadsPassOnWholeCopies) {
  const PortFormat format = two_channels(64);
  const auto outlet = ready(std::make_unique<SampleWatch>(format, std::vector<std::size_t>{0}, kOften));
  constexpr int kHigh = 1 << 16;
  std::atomic<bool> is_over{false};
  std::thread publisher([&] {
    for (int i = 1; !is_over; ++i) {
      // A float alone counts to 2^24.
      Sent<cf32> sent(format,
                      std::vector<cf32>(128, cf32(static_cast<float>(i / kHigh), static_cast<float>(i % kHigh))), 64);
      outlet->send(sent.message, {}, false);
    }
  });
  double last = 0;
  for (int copies = 0; copies < 2000;) {
    outlet->want(copies % 500 == 499 ? 0 : 0b11);
    const WatchCopy* const copy = outlet->take();
    if (!copy) {
      copies += copies % 500 == 499 ? 1 : 0;
      continue;
    }
    const std::vector<cf32> both = trace_of<cf32>(*outlet, *copy, 1);
    EXPECT_TRUE(std::all_of(both.begin(), both.end(), [&](cf32 x) { return x == both.front(); }));
    EXPECT_EQ(trace_of<cf32>(*outlet, *copy, 0).front(), both.front());
    const double number = kHigh * static_cast<double>(both.front().real()) + static_cast<double>(both.front().imag());
    EXPECT_GT(number, last);
    last = number;
    outlet->give_back();
    ++copies;
  }
  is_over = true;
  publisher.join();
}

}  // namespace
}  // namespace iqd
