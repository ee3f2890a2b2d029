// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/trace_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "daemon/live/array_trace.hpp"
#include "pipeline/watch/bin_watch.hpp"
#include "pipeline/watch/item_watch.hpp"
#include "pipeline/watch/point_watch.hpp"
#include "pipeline/watch/sample_watch.hpp"

namespace iqd::live {
namespace {

constexpr double kOften = 1e9;

PortFormat format_of(std::string port, Element element, std::vector<Dim> dims, int varying) {
  PortFormat format;
  format.pipeline = "lab";
  format.port = std::move(port);
  format.element = element;
  format.dims = std::move(dims);
  format.varying = varying;
  format.rate_hz = format.item_rate_hz = 1e6;
  format.frequency_hz = 100e6;
  return format;
}

PortFormat source_format(std::int64_t channels = 2) {
  return format_of("source", Element::cf32, {{"channel", channels}, {"n", 4096}}, 1);
}

WatchedPort watched(std::shared_ptr<WatchOutlet> outlet, bool in_db = true) {
  outlet->reserve();
  return {std::move(outlet), 0, 0.0328, in_db};
}

LivePipeline lab(std::int64_t channels = 2, const std::string& name = "lab") {
  PortFormat format = source_format(channels);
  format.pipeline = name;
  return {name, 0.0328, {watched(std::make_shared<SampleWatch>(format, std::vector<std::size_t>{0}, kOften))}};
}

TraceSet all() {
  return ~TraceSet();
}

/// What a viewer of everything gets.
class TraceMessages : public ::testing::Test {
 protected:
  TraceMessages() { hub_.greet({}); }
  std::vector<std::string> next() {
    std::vector<LiveHub::Shared> out;
    viewer_.next(out);
    std::vector<std::string> bytes;
    for (const auto& message : out) bytes.push_back(message->bytes);
    return bytes;
  }
  static Head head_of(const std::string& bytes) {
    Head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    return head;
  }
  void send(const WatchedPort& port, std::span<const std::byte> payload, std::int64_t extent, Message message = {}) {
    message.format = &port.outlet->format();
    message.payload = payload;
    message.extent = extent;
    message.time_ns = 1'500'000'000;
    port.outlet->send(message, {}, false);
  }

  LiveHub hub_;
  LiveHub::Viewer viewer_{hub_, all()};
  TraceTable table_;
};

std::vector<cf32> tone(double hz, double rate, std::size_t n, cf32 amplitude) {
  std::vector<cf32> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = amplitude * static_cast<cf32>(std::polar(1.0, 2 * M_PI * hz / rate * static_cast<double>(i)));
  return x;
}

TEST(TraceTable, DescribesSourceArrayAndLatency) {
  TraceTable table;
  EXPECT_TRUE(table.renew({lab()}));
  const nlohmann::json traces = table.descriptions();
  ASSERT_EQ(traces.size(), 4u);
  EXPECT_EQ(traces[0]["trace"], 0);
  EXPECT_EQ(traces[0]["port"], "source");
  EXPECT_EQ(traces[0]["kind"], "row");
  EXPECT_EQ(traces[0]["name"], "channel 0");
  EXPECT_EQ(traces[0]["unit"], "dBFS");
  EXPECT_EQ(traces[1]["channel"], 1);
  EXPECT_EQ(traces[1]["of"], nlohmann::json({{"channel", 1}}));
  EXPECT_EQ(traces[2]["kind"], "array");
  EXPECT_EQ(traces[2]["channels"], 2);
  EXPECT_EQ(traces[3]["port"], "latency");
  EXPECT_EQ(traces[3]["scale"], "log2");
}

TEST(TraceTable, ATraceThatContinuesKeepsItsNumber) {
  TraceTable table;
  const LivePipeline first = lab();
  table.renew({first});
  EXPECT_FALSE(table.renew({first})) << "nothing has changed";
  EXPECT_TRUE(table.renew({lab(1, "other"), lab(3)}));
  std::map<std::string, int> numbers;
  for (const nlohmann::json& trace : table.descriptions())
    numbers[trace["pipeline"].get<std::string>() + trace["port"].get<std::string>() +
            trace["name"].get<std::string>()] = trace["trace"];
  EXPECT_EQ(numbers["labsourcechannel 0"], 0);
  EXPECT_EQ(numbers["labsourcechannel 1"], 1);
  EXPECT_EQ(numbers["lablatencylatency"], 3);
  std::set<int> distinct;
  for (const auto& [name, number] : numbers) distinct.insert(number);
  EXPECT_EQ(distinct.size(), numbers.size());
}

TEST(TraceTable, WithoutPipelinesItChangesOnce) {
  TraceTable table;
  EXPECT_TRUE(table.renew({}));
  EXPECT_FALSE(table.renew({}));
  EXPECT_TRUE(table.renew({lab()}));
  EXPECT_TRUE(table.renew({}));
  EXPECT_FALSE(table.renew({}));
}

TEST_F(TraceMessages, ATraceThatComesBackContinues) {
  const std::vector<cf32> x(4096);
  const auto show = [&](const LivePipeline& pipeline) {
    table_.aim(all());
    send(pipeline.ports[0], std::as_bytes(std::span(x)), 4096);
    table_.collect(hub_);
    return head_of(next().at(0));
  };
  const LivePipeline other = lab(1, "other");
  LivePipeline pipeline = lab(1);
  table_.renew({other, pipeline});
  const Head first = show(pipeline);
  table_.renew({other, {"lab", 0.0328, {}}});
  pipeline = lab(1);
  table_.renew({pipeline, other});
  const Head second = show(pipeline);
  EXPECT_EQ(second.trace, first.trace);
  EXPECT_EQ(second.seq, first.seq + 1);
}

TEST(TraceTable, APortOfTwoElementTypesIsShownOnce) {
  PortFormat half = source_format(1);
  half.element = Element::sc16;
  LivePipeline pipeline = lab(1);
  pipeline.ports.push_back(watched(std::make_shared<SampleWatch>(half, std::vector<std::size_t>{0}, kOften)));
  TraceTable table;
  table.renew({pipeline});
  EXPECT_EQ(table.descriptions().size(), 2u) << "samples and latency";
}

TEST(TraceTable, HasAtMost256Traces) {
  TraceTable table;
  std::vector<LivePipeline> many(6, lab(64));
  table.renew(many);
  EXPECT_EQ(table.descriptions().size(), 256u);
}

TEST(TraceTable, OnlyWantedTracesAreWatched) {
  TraceTable table;
  const LivePipeline pipeline = lab();
  table.renew({pipeline});
  EXPECT_FALSE(pipeline.ports[0].outlet->is_watched());
  TraceSet wanted;
  wanted.set(3);  // the latency, which the outlet does not know of
  table.aim(wanted);
  EXPECT_FALSE(pipeline.ports[0].outlet->is_watched());
  wanted.set(1);
  table.aim(wanted);
  EXPECT_TRUE(pipeline.ports[0].outlet->is_watched());
  table.aim({});
  EXPECT_FALSE(pipeline.ports[0].outlet->is_watched());
}

TEST_F(TraceMessages, ARowHasTheTrueFrequencies) {
  const LivePipeline pipeline = lab(1);
  table_.renew({pipeline});
  table_.aim(all());
  const std::vector<cf32> x = tone(123'456, 1e6, 4096, 0.1F);
  Message message;
  message.gap = 98'400;
  message.retuned_hz = 5e6;
  message.tuned = 0;
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 4096, message);
  table_.collect(hub_);
  const auto messages = next();
  ASSERT_EQ(messages.size(), 1u);
  const Head head = head_of(messages[0]);
  EXPECT_EQ(head.kind, Head::Kind::row);
  EXPECT_EQ(head.count, 1024u);
  EXPECT_EQ(head.vectors, 1);
  EXPECT_EQ(head.flags, Head::after_gap | Head::retuned);
  EXPECT_EQ(head.lost, 3u) << "98.4 ms of rows of 32.8 ms";
  EXPECT_DOUBLE_EQ(head.time_s, 1.5);
  EXPECT_FLOAT_EQ(head.span, 1e6F);
  EXPECT_DOUBLE_EQ(head.first, 105e6 - 5e5 - 1e6 / 8192);
  const auto* const codes = reinterpret_cast<const unsigned char*>(messages[0].data()) + sizeof head;
  const auto peak = std::max_element(codes, codes + 1024) - codes;
  EXPECT_EQ(peak, std::floor((105e6 + 123'456 - head.first) / head.span * 1024));
  EXPECT_NEAR(head.low_cdb / 100.0 + (codes[peak] - 1) * head.step_mdb / 1000.0, -20, 1);
}

TEST_F(TraceMessages, AMirroredPortIsTurned) {
  PortFormat format = format_of("x.out", Element::cf32, {{"n", 4096}}, 0);
  format.mirrored = true;
  const LivePipeline pipeline{
      "lab", 0.1, {watched(std::make_shared<SampleWatch>(format, std::vector<std::size_t>{}, kOften))}};
  table_.renew({pipeline});
  table_.aim(all());
  const std::vector<cf32> x = tone(123'456, 1e6, 4096, 1);
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 4096);
  table_.collect(hub_);
  const auto messages = next();
  const Head head = head_of(messages.at(0));
  const auto* const codes = reinterpret_cast<const unsigned char*>(messages[0].data()) + sizeof head;
  const auto peak = std::max_element(codes, codes + 1024) - codes;
  EXPECT_EQ(peak, std::floor((100e6 - 123'456 - head.first) / head.span * 1024));
}

TEST_F(TraceMessages, BinsAreShownAsTheyAre) {
  PortFormat format = format_of("spectrum.out", Element::f32, {{"bin", 3}}, -1);
  format.dims[0].frequencies = {.first_hz = -1000, .step_hz = 1000};
  const LivePipeline pipeline{
      "lab", 0.1, {watched(std::make_shared<BinWatch>(format, std::vector<std::size_t>{}, kOften))}};
  table_.renew({pipeline});
  table_.aim(all());
  const std::vector<float> x{-40, NAN, -INFINITY};
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 1);
  table_.collect(hub_);
  const auto messages = next();
  const Head head = head_of(messages.at(0));
  EXPECT_DOUBLE_EQ(head.first, 100e6 - 1500);
  EXPECT_FLOAT_EQ(head.span, 3000);
  EXPECT_EQ(messages[0].substr(sizeof head), std::string("\xb5\0\1", 3)) << "-40 is code 181";
}

TEST_F(TraceMessages, ManyBinsAreFoldedToLargestAndMean) {
  const PortFormat format = format_of("spectrum.out", Element::f32, {{"bin", 2048}}, -1);
  const LivePipeline pipeline{
      "lab", 0.1, {watched(std::make_shared<BinWatch>(format, std::vector<std::size_t>{}, kOften), false)}};
  table_.renew({pipeline});
  EXPECT_EQ(table_.descriptions()[0]["axis"], "bin");
  table_.aim(all());
  std::vector<float> x(2048, 1e-2F);  // magnitudes: -40 dB
  x[7] = 1e-1F;
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 1);
  table_.collect(hub_);
  const auto messages = next();
  const Head head = head_of(messages.at(0));
  EXPECT_EQ(head.count, 1024u);
  EXPECT_EQ(head.vectors, 2);
  ASSERT_EQ(messages[0].size(), sizeof head + 2048);
  const auto code = [&](std::size_t k) { return static_cast<int>(static_cast<unsigned char>(messages[0][40 + k])); };
  EXPECT_EQ(code(0), 181);
  EXPECT_EQ(code(3), 221);
  EXPECT_NEAR(code(1024 + 3), 215, 1) << "10 log10((1e-2 + 1e-4) / 2) is -23 dB";
}

TEST_F(TraceMessages, DensitiesAndCountsHaveTheirExtent) {
  const PortFormat symbols = format_of("x.symbols", Element::cf32, {{"packet", 1}, {"symbol", 100}}, 0);
  PortFormat llr = format_of("x.llr", Element::i8, {{"packet", 1}, {"bit", 100}}, 0);
  llr.llr_scale = 0.25;
  const LivePipeline pipeline{"lab",
                              0.1,
                              {watched(std::make_shared<PointWatch>(symbols, *watchable(symbols), kOften)),
                               watched(std::make_shared<PointWatch>(llr, *watchable(llr), kOften))}};
  table_.renew({pipeline});
  table_.aim(all());
  const std::vector<cf32> x(100, cf32(1, 1));
  const std::vector<std::int8_t> y(100, 40);
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 1);
  send(pipeline.ports[1], std::as_bytes(std::span(y)), 1);
  table_.collect(hub_);
  const auto messages = next();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(head_of(messages[0]).kind, Head::Kind::density);
  EXPECT_EQ(head_of(messages[0]).count, 4096u);
  EXPECT_EQ(head_of(messages[0]).first, -5) << "1.5 times the root of 2 is more than 2";
  EXPECT_EQ(head_of(messages[0]).span, 10);
  EXPECT_EQ(head_of(messages[1]).kind, Head::Kind::counts);
  EXPECT_EQ(head_of(messages[1]).count, 64u);
  EXPECT_EQ(head_of(messages[1]).first, -50) << "LLRs of 10";
  EXPECT_EQ(messages[1].size(), 40u + 256);
}

TEST_F(TraceMessages, LatenciesSinceTheLastMessage) {
  table_.renew({lab()});
  table_.aim(all());
  Histogram histogram;
  histogram.record(1'000'000);
  table_.show_latencies({"", {{"lab", histogram.snapshot()}}}, 5, hub_);
  histogram.record(2'000'000);
  table_.show_latencies({"", {{"lab", histogram.snapshot()}}}, 5.5, hub_);
  const auto messages = next();
  ASSERT_EQ(messages.size(), 1u);
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < 64; ++k) {
    std::uint32_t count = 0;
    std::memcpy(&count, messages[0].data() + 40 + 4 * k, 4);
    sum += count;
  }
  EXPECT_EQ(sum, 1u);
  EXPECT_EQ(head_of(messages[0]).time_s, 5.5);
}

TEST_F(TraceMessages, TheArrayHasPhasesRelativeToItsFirstChannel) {
  const LivePipeline pipeline = lab(3);
  table_.renew({pipeline});
  TraceSet wanted;
  wanted.set(3);
  table_.aim(wanted);
  std::vector<cf32> x = tone(50'000, 1e6, 4096, 0.5F);
  const std::vector<cf32> turned = tone(50'000, 1e6, 4096, cf32(0, 0.05F));
  x.insert(x.end(), turned.begin(), turned.end());
  x.resize(3 * 4096);  // the third is silent
  send(pipeline.ports[0], std::as_bytes(std::span(x)), 4096);
  table_.collect(hub_);
  const auto messages = next();
  ASSERT_EQ(messages.size(), 1u);
  const nlohmann::json array = nlohmann::json::parse(messages[0])["array"];
  EXPECT_EQ(array["trace"], 3);
  ASSERT_EQ(array["channels"].size(), 3u);
  EXPECT_NEAR(array["channels"][0]["rms_dbfs"], -6.02, 0.01);
  EXPECT_NEAR(array["channels"][0]["phase_deg"], 0, 1e-3);
  EXPECT_NEAR(array["channels"][1]["rms_dbfs"], -26.02, 0.01);
  EXPECT_NEAR(array["channels"][1]["phase_deg"], 90, 1e-3);
  EXPECT_NEAR(array["channels"][1]["coherence"], 1, 1e-6);
  EXPECT_TRUE(array["channels"][2]["rms_dbfs"].is_null());
  EXPECT_TRUE(array["channels"][2]["phase_deg"].is_null());
}

TEST_F(TraceMessages, ItemsComeWithTheirFacts) {
  const PortFormat format = format_of("x.bits", Element::u8, {{"packet", 8}, {"bit", 1}}, 0);
  const LivePipeline pipeline{
      "lab", 0.1, {watched(std::make_shared<ItemWatch>(format, std::vector<std::string>{"noise"}, kOften))}};
  table_.renew({pipeline});
  EXPECT_EQ(table_.descriptions()[0]["facts"], nlohmann::json({"noise"}));
  table_.aim(all());
  const std::vector<std::uint8_t> bits(2);
  const std::vector<float> noise{0.5F, NAN};
  const FactColumn column{"noise", Element::f32, reinterpret_cast<const std::byte*>(noise.data())};
  Message message;
  message.facts = std::span(&column, 1);
  send(pipeline.ports[0], std::as_bytes(std::span(bits)), 2, message);
  table_.collect(hub_);
  const nlohmann::json items = nlohmann::json::parse(next().at(0))["items"];
  EXPECT_EQ(items["more"], 0);
  EXPECT_EQ(items["items"], nlohmann::json::parse(R"([{"time_s":1.5,"noise":0.5},{"time_s":1.5,"noise":null}])"));
}

TEST(Array, ChannelsOfNoiseHaveLittleInCommon) {
  const std::vector<cf32> x = tone(1000, 1e6, 1000, 1), y = tone(2000, 1e6, 1000, 1);
  EXPECT_LT(compare_channels(x, y).coherence, 1e-3);
}

TEST(Traces, NamesMayContainAnything) {
  PortFormat format = format_of("x.symbols", Element::cf32, {{"kind", 1, {"<b>\"\xff"}}, {"symbol", 8}}, 1);
  const LivePipeline pipeline{"lab", 0.1, {watched(std::make_shared<PointWatch>(format, *watchable(format), kOften))}};
  TraceTable table;
  table.renew({pipeline});
  EXPECT_EQ(nlohmann::json::parse(text_of(table.descriptions()))[0]["of"]["kind"], "<b>\"\xef\xbf\xbd");
}

}  // namespace
}  // namespace iqd::live
