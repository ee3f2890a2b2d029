// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/recall/recall_sink.hpp"
#include "radio/recall/recall_source.hpp"

namespace iqd::radio::recall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Event = Received::Event;

constexpr std::int64_t kStartNs = 1'743'422'400'000'000'000;

/// The value of sample n of a channel.
cf32 value(std::int64_t n, std::int64_t channel = 0) {
  return {static_cast<float>(n), static_cast<float>(channel + 1)};
}

/// Samples first … first + n - 1, [channel][n].
std::vector<cf32> values(std::int64_t first, std::int64_t n, std::int64_t channels = 1) {
  std::vector<cf32> x;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < n; ++i) x.push_back(value(first + i, c));
  return x;
}

/// A ring of one or several channels, with times.
struct TimedRing {
  Ring ring;
  explicit TimedRing(std::int64_t samples, double rate = 1e6, std::int64_t channels = 1)
      : ring({Element::cf32, channels, rate, samples}) {}
  /// Writes samples first … first + n - 1 at their time plus `shift_ns`.
  void write(std::int64_t first, std::int64_t n, std::int64_t shift_ns = 0) {
    const auto x = values(first, n, ring.kept().channels);
    ring.write(at(first) + shift_ns, reinterpret_cast<const std::byte*>(x.data()), n);
  }
  std::int64_t at(std::int64_t n) const { return kStartNs + ring.kept().duration_ns(n); }
  std::vector<cf32> read(std::int64_t time_ns, std::int64_t n) const {
    std::vector<cf32> y(static_cast<std::size_t>(n * ring.kept().channels));
    std::vector<std::byte*> rows;
    for (std::int64_t c = 0; c < ring.kept().channels; ++c) rows.push_back(reinterpret_cast<std::byte*>(&y[c * n]));
    ring.copy(time_ns, n, rows);
    return y;
  }
};

TEST(RecallRing, GivesBackWhatItHolds) {
  TimedRing r(1000, 1e6, 2);
  std::int64_t written = 0;
  for (const std::int64_t n : {1, 7, 300, 64, 999, 1000, 5, 333}) {
    r.write(written, n);
    written += n;
    const std::int64_t oldest = std::max<std::int64_t>(0, written - 1000);
    const std::int64_t all = written - oldest;
    EXPECT_EQ(r.ring.end_ns(), r.at(written));
    EXPECT_EQ(r.ring.held(r.at(oldest), all), all);
    EXPECT_EQ(r.read(r.at(oldest), all), values(oldest, all, 2));
    EXPECT_EQ(r.ring.held(r.at(oldest - 10), all + 20), all);
    EXPECT_EQ(r.read(r.at(written - 1), 1), values(written - 1, 1, 2));
  }
}

TEST(RecallRing, OfMoreThanItKeepsItTakesTheNewest) {
  TimedRing r(100, 1e6, 2);
  r.write(0, 30);
  r.write(30, 270);
  EXPECT_EQ(r.ring.held(r.at(0), 300), 100);
  EXPECT_EQ(r.read(r.at(200), 100), values(200, 100, 2));
}

TEST(RecallRing, HoldsNothingOfAGap) {
  TimedRing r(1000);
  r.write(0, 100);
  r.write(150, 100);
  EXPECT_EQ(r.ring.held(r.at(50), 150), 100);
  const auto y = r.read(r.at(50), 150);
  for (std::int64_t i = 0; i < 150; ++i)
    EXPECT_EQ(y[static_cast<std::size_t>(i)], i >= 50 && i < 100 ? cf32() : value(50 + i)) << i;
  EXPECT_EQ(r.ring.held(r.at(100), 50), 0);
  EXPECT_EQ(r.ring.held(r.at(-500), 500), 0);
  EXPECT_EQ(r.ring.held(r.at(250), 500), 0);
}

TEST(RecallRing, TakesTheNearestSample) {
  TimedRing r(1000);
  r.write(0, 100);
  for (const std::int64_t off : {-400, 400, 499}) EXPECT_EQ(r.read(r.at(20) + off, 10), values(20, 10)) << off;
  EXPECT_EQ(r.read(r.at(20) + 600, 10), values(21, 10));
  EXPECT_EQ(r.read(r.at(20) - 600, 10), values(19, 10));
}

/// A rate whose samples are not whole nanoseconds, and time stamps that vary by less than half a sample.
TEST(RecallRing, GoesOnSampleBySample) {
  for (const std::int64_t wander : {0, 5}) {
    TimedRing r(50'000, 61.44e6);
    for (std::int64_t m = 0; m < 100; ++m) r.write(m * 777, 777, m % 2 != 0 ? wander : 0);
    const auto y = r.read(r.at(40'000), 37'000);
    for (std::int64_t i = 1; i < std::ssize(y); ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)].real() - y[static_cast<std::size_t>(i - 1)].real(), 1) << i;
    EXPECT_LE(std::fabs(y[0].real() - 40'000.0f), 1.0f);
    EXPECT_EQ(r.ring.held(r.at(40'000), 37'000), 37'000);
  }
}

/// A clock that is 20 ppm slow relative to the rate: no time is off by more than half a sample.
TEST(RecallRing, AWrongRateDoesNotAddUp) {
  TimedRing r(1'000'000);
  for (std::int64_t m = 0; m < 1000; ++m) r.write(m * 1000, 1000, m * 20);
  EXPECT_EQ(r.read(r.at(999'100) + 999 * 20, 10), values(999'100, 10));
  EXPECT_EQ(r.read(r.at(500'100) + 500 * 20, 10), values(500'100, 10));
  EXPECT_EQ(r.ring.held(r.at(1000), 900'000), 900'000);
}

TEST(RecallRing, ForgetsWhatWasBeforeItsClockWentBack) {
  TimedRing r(1000);
  r.write(0, 500);
  r.write(500, 100, -300'000);
  EXPECT_EQ(r.ring.held(r.at(0), 500), 100);
  EXPECT_EQ(r.read(r.at(200), 100), values(500, 100));
  EXPECT_EQ(r.ring.end_ns(), r.at(300));
}

// Sinks and sources -------------------------------------------------------------------------------------------------

/// A sink within a pipeline, and the samples of a stream at 1 MS/s.
struct Feed {
  PortFormat format;
  std::unique_ptr<Sink> sink;
  explicit Feed(const std::string& name, std::map<std::string, std::string> more = {}, std::int64_t channels = 1,
                std::string pipeline = "test")
      : format(stream_format(Element::cf32, channels)) {
    format.pipeline = std::move(pipeline);
    RecallSinkOptions options;
    more["name"] = name;
    more.emplace("keep", "0.01");
    assign(options, more);
    EXPECT_THAT(complaints([&](const Section& s) { options.check(format, s); }), IsEmpty());
    sink = options.open(format);
  }
  bool send(std::int64_t first, std::int64_t n, std::int64_t gap = 0) {
    const auto x = values(first, n, format.dims.size() == 2 ? format.dims[0].extent : 1);
    return sink->send(message_of<cf32>(format, first, x, gap));
  }
};

RecallSourceOptions options(std::vector<std::string> names, std::map<std::string, std::string> values) {
  class Names final : public FieldVisitor {
   public:
    explicit Names(std::vector<std::string>& names) : names_(names) {}
    void visit(std::string_view key, FieldRef field, const FieldInfo&) override {
      if (key == "names") *std::get<std::vector<std::string>*>(field) = names_;
    }

   private:
    std::vector<std::string>& names_;
  } set(names);
  RecallSourceOptions o;
  values.emplace("rate", "1e6");
  values.emplace("samples", "100");
  values.emplace("every", "0");
  values.emplace("patience", "3600");
  assign(o, values);
  o.fields(set);
  return o;
}

/// A source and its last result.
struct Reader {
  std::unique_ptr<Source> source;
  std::vector<cf32> got;  // [channel][n]
  Received last;
  explicit Reader(const RecallSourceOptions& o) : source(o.open()) {}
  std::int64_t channels() const { return source->info().channels; }
  /// One call of `receive`.
  Event step(std::int64_t most = 100) {
    std::vector<cf32> x(static_cast<std::size_t>(most * channels()));
    std::vector<std::byte*> into;
    for (std::int64_t c = 0; c < channels(); ++c) into.push_back(reinterpret_cast<std::byte*>(&x[c * most]));
    last = source->receive(into, most);
    got.clear();
    for (std::int64_t c = 0; c < channels(); ++c) got.insert(got.end(), &x[c * most], &x[c * most] + last.samples);
    return last.event;
  }
  /// Waits for a capture without limit.
  void wait() {
    for (int i = 0; i < 20'000 && step() == Event::nothing; ++i) continue;
    ASSERT_EQ(last.event, Event::samples);
    ASSERT_EQ(last.samples, 100);
  }
  bool nothing_comes() {
    for (int i = 0; i < 5; ++i)
      if (step() != Event::nothing) return false;
    return true;
  }
};

std::vector<cf32> below(std::vector<cf32> upper, const std::vector<cf32>& lower) {
  upper.insert(upper.end(), lower.begin(), lower.end());
  return upper;
}

TEST(Recall, SamplesOfTheSameTimeComeTogether) {
  Feed sent("sent", {{"delay", "0.002"}}), heard("heard", {}, 2);
  Reader r(options({"sent", "heard"}, {{"channels", "1,2"}}));
  EXPECT_EQ(r.source->info().channels, 3);
  EXPECT_TRUE(r.source->info().can_wait);
  for (std::int64_t n = 0; n < 3000; n += 500) EXPECT_TRUE(sent.send(n, 500));
  EXPECT_TRUE(r.nothing_comes()) << "nothing was received yet";
  for (std::int64_t n = 0; n < 4500; n += 900) EXPECT_TRUE(heard.send(n, 900));
  r.wait();
  // The newest received samples, and those sent 2 ms = 2000 samples before.
  EXPECT_EQ(r.last.time_ns, kStartNs + 4400 * 1000);
  EXPECT_TRUE(r.last.has_time);
  EXPECT_TRUE(r.last.ends);
  EXPECT_EQ(r.got, below(values(2400, 100), values(4400, 100, 2)));
}

TEST(Recall, ACaptureComesInPiecesOfAnySize) {
  Feed feed("a");
  feed.send(0, 200);
  Reader r(options({"a"}, {}));
  ASSERT_EQ(r.step(64), Event::samples);
  EXPECT_EQ(r.got, values(100, 64));
  EXPECT_TRUE(r.last.has_time);
  EXPECT_FALSE(r.last.ends);
  feed.send(200, 3000);  // the original may have been overwritten
  feed.send(3200, 9000);
  ASSERT_EQ(r.step(64), Event::samples);
  EXPECT_EQ(r.got, values(164, 36));
  EXPECT_FALSE(r.last.has_time);
  EXPECT_TRUE(r.last.ends);
  r.wait();
  EXPECT_EQ(r.got, values(12'100, 100)) << "the newest";
}

TEST(Recall, NothingIsTakenTwice) {
  Feed feed("a");
  Reader r(options({"a"}, {}));
  feed.send(0, 100);
  r.wait();
  feed.send(100, 99);
  EXPECT_TRUE(r.nothing_comes());
  feed.send(199, 51);
  r.wait();
  EXPECT_EQ(r.got, values(150, 100));
}

TEST(Recall, ItGoesOnAfterAClockWasSetBack) {
  Feed feed("a");
  Reader r(options({"a"}, {}));
  feed.send(5000, 100);
  r.wait();
  feed.send(0, 300);
  r.wait();
  EXPECT_EQ(r.got, values(200, 100));
}

TEST(Recall, OnCommandAlone) {
  Feed feed("a");
  feed.send(0, 100);
  std::map<std::string, std::string> keys{{"again", "7"}};
  RecallSourceOptions o = options({"a"}, keys);
  class NoEvery final : public FieldVisitor {
    void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
      if (key == "every") *std::get<std::optional<double>*>(field) = std::nullopt;
      EXPECT_EQ(info.live, key == "every" || key == "again") << key;
    }
  } none;
  o.fields(none);
  Reader r(o);
  EXPECT_TRUE(r.nothing_comes());
  EXPECT_TRUE(r.last.ends) << "no capture is due";
  RecallSourceOptions next = o;
  assign(next, {{"again", "8"}});
  r.source->retune(next);
  r.wait();
  EXPECT_EQ(r.got, values(0, 100));
  feed.send(100, 500);
  EXPECT_TRUE(r.nothing_comes());
  r.source->retune(next);
  EXPECT_TRUE(r.nothing_comes()) << "it did not change";
  assign(next, {{"every", "0"}});
  r.source->retune(next);
  r.wait();
  EXPECT_EQ(r.got, values(500, 100));
}

TEST(Recall, NotBeforeItIsDue) {
  Feed feed("a");
  Reader r(options({"a"}, {{"every", "3600"}}));
  feed.send(0, 100);
  r.wait();
  feed.send(100, 500);
  EXPECT_TRUE(r.nothing_comes());
  EXPECT_TRUE(r.last.ends);
}

TEST(Recall, AGapIsWaitedFor) {
  Feed feed("a");
  Reader r(options({"a"}, {}));
  feed.send(0, 50);
  feed.send(60, 90, 10);
  EXPECT_TRUE(r.nothing_comes());
  feed.send(150, 30);
  r.wait();
  EXPECT_EQ(r.got, values(80, 100));
}

TEST(Recall, ButNotForEver) {
  Feed a("a"), b("b");
  Reader r(options({"a", "b"}, {{"patience", "0.4"}}));
  // Only the first continues long enough: the other one's clock differs.
  for (std::int64_t n = 0; n < 200'000 && r.step() == Event::nothing; n += 50) {
    a.send(n, 50);
    b.send(n + 1'000'000, 50);
  }
  ASSERT_EQ(r.last.event, Event::samples);
  EXPECT_EQ(r.got[99].imag(), 1);
  EXPECT_EQ(r.got[99].real() - r.got[0].real(), 99);
  EXPECT_EQ(std::vector<cf32>(r.got.begin() + 100, r.got.end()), std::vector<cf32>(100));
}

TEST(Recall, WhatNeverComesIsZeros) {
  Feed a("a");
  Reader r(options({"nobody", "a"}, {{"patience", "0.1"}}));
  for (std::int64_t n = 0; n < 200'000 && r.step() == Event::nothing; n += 50) a.send(n, 50);
  ASSERT_EQ(r.last.event, Event::samples);
  EXPECT_EQ(std::vector<cf32>(r.got.begin(), r.got.begin() + 100), std::vector<cf32>(100));
  EXPECT_EQ(r.got[199].real() - r.got[100].real(), 99);
}

TEST(Recall, WhereNothingComesAtAllThereIsNoCapture) {
  Reader r(options({"nobody"}, {{"patience", "0.01"}}));
  EXPECT_TRUE(r.nothing_comes());
  for (int i = 0; i < 10'000 && r.last.ends; ++i) EXPECT_EQ(r.step(), Event::nothing);
  EXPECT_FALSE(r.last.ends) << "one is overdue";
}

TEST(Recall, WhatIsOfAnotherKindIsZeros) {
  Feed a("a"), wide("wide", {}, 2), brief("brief", {{"keep", "0.00005"}});
  for (Feed* feed : {&a, &wide, &brief}) feed->send(0, 300);
  for (const std::string other : {"wide", "brief"}) {
    Reader r(options({other, "a"}, {}));
    r.wait();
    EXPECT_EQ(r.got, below(std::vector<cf32>(100), values(200, 100))) << other;
  }
  Reader sc16(options({"a"}, {{"format", "sc16"}}));
  EXPECT_EQ(sc16.source->info().element, Element::sc16);
  EXPECT_TRUE(sc16.nothing_comes());
  Reader fast(options({"a"}, {{"rate", "1.1e6"}}));
  EXPECT_TRUE(fast.nothing_comes());
}

TEST(Recall, AReloadedSinkGoesOn) {
  auto first = std::make_unique<Feed>("a");
  Reader r(options({"a"}, {}));
  first->send(0, 60);
  Feed second("a");
  EXPECT_TRUE(first->send(60, 10)) << "it has the memory until the other begins";
  EXPECT_TRUE(second.send(70, 50));
  EXPECT_FALSE(first->send(120, 10));
  first.reset();
  EXPECT_TRUE(second.send(120, 10));
  r.wait();
  EXPECT_EQ(r.got, values(30, 100));
}

TEST(Recall, ASinkOfAnotherKindBeginsAnew) {
  Feed first("a");
  Reader r(options({"a"}, {{"channels", "2"}}));
  first.send(0, 500);
  Feed second("a", {}, 2);
  second.send(500, 100);
  r.wait();
  EXPECT_EQ(r.got, values(500, 100, 2));
}

TEST(Recall, ThePastStaysAsLongAsASourceIsThere) {
  std::optional<Reader> r;
  r.emplace(options({"a"}, {}));
  Feed("a").send(0, 100);
  r->wait();
  EXPECT_EQ(r->got, values(0, 100));
  r.reset();
  EXPECT_FALSE(Memory::named("a")->look().kept) << "no holder was left";
}

TEST(Recall, TwoPipelinesCannotFillOne) {
  Feed first("a", {}, 1, "one");
  RecallSinkOptions second;
  assign(second, {{"name", "a"}, {"keep", "1"}});
  PortFormat format = stream_format(Element::cf32);
  format.pipeline = "two";
  EXPECT_THROW(second.open(format), SetupError);
  first.sink.reset();
  EXPECT_NE(second.open(format), nullptr);
}

std::vector<std::string> sink_complaints(const PortFormat& format, std::map<std::string, std::string> keys) {
  RecallSinkOptions o;
  keys.emplace("name", "a");
  keys.emplace("keep", "0.1");
  assign(o, std::move(keys));
  return complaints([&](const Section& s) { o.check(format, s); });
}

TEST(Recall, TellsWhatCannotBeKept) {
  const PortFormat good = stream_format(Element::sc16, 4);
  EXPECT_THAT(sink_complaints(good, {{"delay", "0.05"}}), IsEmpty());
  EXPECT_THAT(sink_complaints(good, {{"name", ""}}), ElementsAre(HasSubstr("name: is empty")));
  EXPECT_THAT(sink_complaints(good, {{"keep", "0.05"}, {"delay", "0.05"}}), ElementsAre(HasSubstr("delay")));
  EXPECT_THAT(sink_complaints(good, {{"keep", "1e-9"}}), ElementsAre(HasSubstr("not one sample")));
  EXPECT_THAT(sink_complaints(stream_format(Element::f32), {}), ElementsAre(HasSubstr("f32")));
  PortFormat frames = good;
  frames.dims[0].name = "frame";
  EXPECT_THAT(sink_complaints(frames, {}), ElementsAre(HasSubstr("[channel][n]")));
  EXPECT_THAT(sink_complaints({}, {}), IsEmpty()) << "its stages could not be read";
}

TEST(Recall, TellsWhatCannotBeCaptured) {
  const auto told = [](const RecallSourceOptions& o) { return complaints([&](const Section& s) { o.describe(s); }); };
  EXPECT_THAT(told(options({"a", "b"}, {{"channels", "1,4"}})), IsEmpty());
  EXPECT_THAT(told(options({}, {})), ElementsAre(HasSubstr("names: is empty")));
  EXPECT_THAT(told(options({"a", ""}, {})), ElementsAre(HasSubstr("names: one of them")));
  EXPECT_THAT(told(options({"a", "b"}, {{"channels", "1"}})), ElementsAre(HasSubstr("2 names")));
}

}  // namespace
}  // namespace iqd::radio::recall
