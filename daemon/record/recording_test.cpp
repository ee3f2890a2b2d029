// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/recording.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "config/fields.hpp"

namespace iqd {
namespace {

using Values = std::vector<std::int16_t>;

/// Keeps the sent messages.
struct Kept {
  std::vector<Values> messages;
  bool full = false;
};

struct KeepingSink final : Sink {
  explicit KeepingSink(Kept& k) : kept(k) {}
  bool send(const Message& m) override {
    Values values(m.payload.size() / sizeof(std::int16_t));
    std::memcpy(values.data(), m.payload.data(), m.payload.size());
    EXPECT_EQ(m.format->bytes(m.extent), static_cast<std::int64_t>(m.payload.size()));
    if (!kept.full) kept.messages.push_back(std::move(values));
    return !kept.full;
  }
  Kept& kept;
};

struct KeepingSinkOptions final : SinkOptions {
  explicit KeepingSinkOptions(Kept& k) : kept(k) {}
  void fields(FieldVisitor&) override {}
  void check(const PortFormat&, const Section&) const override {}
  std::unique_ptr<Sink> open(const PortFormat&) const override { return std::make_unique<KeepingSink>(kept); }
  std::string path() const override { return "made"; }
  Kept& kept;
};

struct SilentSource final : Source {
  StreamInfo info() const override { return {}; }
  Received receive(std::span<std::byte* const>, std::int64_t) override { return {}; }
};

struct SilentSourceOptions final : SourceOptions {
  void fields(FieldVisitor&) override {}
  std::optional<RadioRequest> radio() const override {
    RadioRequest radio;
    radio.args = "serial=1";
    return radio;
  }
  std::string path() const override { return "played"; }
  std::string calibration() const override { return "table.yaml"; }
  StreamInfo describe(const Section&) const override { return {}; }
  std::unique_ptr<Source> open() const override { return std::make_unique<SilentSource>(); }
};

PortFormat stream(std::int64_t channels, double rate_hz) {
  PortFormat f;
  f.element = Element::i16;
  if (channels > 1) f.dims.push_back({"channel", channels});
  f.dims.push_back({"n", 100});
  f.varying = static_cast<int>(f.dims.size()) - 1;
  f.rate_hz = f.item_rate_hz = rate_hz;
  return f;
}

/// [channel][n], counting from 0.
bool send(Sink& sink, const PortFormat& format, std::int64_t extent) {
  Values values(static_cast<std::size_t>(format.bytes(extent)) / sizeof(std::int16_t));
  std::iota(values.begin(), values.end(), std::int16_t{0});
  Message m;
  m.format = &format;
  m.extent = extent;
  m.payload = std::as_bytes(std::span(values));
  return sink.send(m);
}

TEST(Recording, LimitIsTheSmallerOfBoth) {
  RecordingLimit limit;
  EXPECT_EQ(limit.at_rate(1e6), std::numeric_limits<std::int64_t>::max());
  limit.seconds = 0.25;
  EXPECT_EQ(limit.at_rate(1e6), 250'000);
  EXPECT_EQ(limit.at_rate(1), 1);
  limit.samples = 1000;
  EXPECT_EQ(limit.at_rate(1e6), 1000);
  EXPECT_EQ(limit.at_rate(1e3), 250);
  limit.seconds = 1e300;
  EXPECT_EQ(limit.at_rate(1e6), 1000);
}

TEST(Recording, IsCutToTheSampleAcrossChannels) {
  Kept kept;
  auto limit = std::make_shared<RecordingLimit>();
  limit->samples = 6;
  const PortFormat format = stream(2, 1e6);
  const auto sink = limit_sink(std::make_unique<KeepingSinkOptions>(kept), limit)->open(format);
  EXPECT_TRUE(send(*sink, format, 4));
  EXPECT_FALSE(limit->reached);
  EXPECT_TRUE(send(*sink, format, 5));
  EXPECT_TRUE(limit->reached);
  EXPECT_TRUE(send(*sink, format, 5));  // taken and discarded
  EXPECT_EQ(kept.messages, (std::vector<Values>{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 5, 6}}));
  EXPECT_EQ(limit->recorded, 6);
}

TEST(Recording, IsReachedByAWholeMessageToo) {
  Kept kept;
  auto limit = std::make_shared<RecordingLimit>();
  limit->seconds = 0.01;
  const PortFormat format = stream(1, 1000);
  const auto sink = limit_sink(std::make_unique<KeepingSinkOptions>(kept), limit)->open(format);
  EXPECT_TRUE(send(*sink, format, 10));
  EXPECT_TRUE(limit->reached);
  EXPECT_EQ(limit->recorded, 10);
}

TEST(Recording, SaysThatTheSinkTookNoMore) {
  Kept kept;
  kept.full = true;
  auto limit = std::make_shared<RecordingLimit>();
  const PortFormat format = stream(1, 1000);
  const auto sink = limit_sink(std::make_unique<KeepingSinkOptions>(kept), limit)->open(format);
  EXPECT_FALSE(send(*sink, format, 10));
  EXPECT_TRUE(limit->refused);
  EXPECT_EQ(limit->recorded, 0);
}

TEST(Recording, HidesNothingOfWhatIsConfigured) {
  const auto limit = std::make_shared<RecordingLimit>();
  const auto source = limit_source(std::make_unique<SilentSourceOptions>(), limit);
  EXPECT_EQ(source->radio()->args, "serial=1");
  EXPECT_EQ(source->path(), "played");
  EXPECT_EQ(source->calibration(), "table.yaml");
  Kept kept;
  EXPECT_EQ(limit_sink(std::make_shared<KeepingSinkOptions>(kept), limit)->path(), "made");
}

TEST(Recording, EndsItsSource) {
  auto limit = std::make_shared<RecordingLimit>();
  const auto source = limit_source(std::make_unique<SilentSourceOptions>(), limit)->open();
  EXPECT_EQ(source->receive({}, 1).event, Received::Event::nothing);
  limit->reached = true;
  EXPECT_EQ(source->receive({}, 1).event, Received::Event::end);
}

TEST(Recording, ItsSummaryHasCountsAndGaps) {
  Kept kept;
  auto limit = std::make_shared<RecordingLimit>();
  PortFormat packets;
  packets.element = Element::i16;
  packets.dims = {{"packet", 8}, {"bit", 3}};
  packets.varying = 0;
  const auto sink = limit_sink(std::make_unique<KeepingSinkOptions>(kept), limit)->open(packets);
  EXPECT_EQ(limit->summary(), "0 packets recorded in 0 messages");
  Message m;
  m.format = &packets;
  const Values values(6);
  m.extent = 2;
  m.payload = std::as_bytes(std::span(values));
  EXPECT_TRUE(sink->send(m));
  m.gap = 700;
  EXPECT_TRUE(sink->send(m));
  EXPECT_EQ(limit->summary(), "4 packets recorded in 2 messages, 1 gap with 700 missing samples");
}

TEST(Recording, AMessageOfPacketsIsCutBetweenThem) {
  Kept kept;
  auto limit = std::make_shared<RecordingLimit>();
  limit->samples = 1;
  PortFormat packets;
  packets.element = Element::i16;
  packets.dims = {{"packet", 8}, {"bit", 3}};
  packets.varying = 0;
  const auto sink = limit_sink(std::make_unique<KeepingSinkOptions>(kept), limit)->open(packets);
  EXPECT_TRUE(send(*sink, packets, 2));
  ASSERT_EQ(kept.messages.size(), 1U);
  EXPECT_EQ(kept.messages[0], (Values{0, 1, 2}));
}

}  // namespace
}  // namespace iqd
