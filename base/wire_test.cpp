// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace iqd {
namespace {

using nlohmann::json;
using ::testing::StartsWith;

PortFormat packets_format() {
  PortFormat f;
  f.pipeline = "telemetry";
  f.port = "detector.bits";
  f.element = Element::u8;
  f.dims = {{"packet", 8}, {"bit", 6}};
  f.varying = 0;
  f.rate_hz = 20.625e6;
  f.frequency_hz = 1.4515e9;
  return f;
}

Message message_of(const PortFormat& f) {
  Message m;
  m.format = &f;
  return m;
}

std::string header(const Message& m, std::string_view topic, std::size_t columns = 0, std::int64_t items = 0) {
  std::string text(header_bound(*m.format, topic.size(), columns, items), '\0');
  const std::size_t bytes = write_header(m, topic, text);
  EXPECT_GT(bytes, 0u);
  text.resize(bytes);
  return text;
}

json parsed(const std::string& frame, std::string_view topic) {
  EXPECT_THAT(frame, StartsWith(std::string(topic) + " {"));
  return json::parse(frame.substr(topic.size() + 1));
}

TEST(Wire, TellsWhereTheRadioWasSetOtherwise) {
  PortFormat f = packets_format();
  Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("tuned"));
  EXPECT_EQ(parsed(header(m, "t"), "t")["frequency"], 1.4515e9);
  m.tuned = 0;
  m.retuned_hz = -1e6;
  EXPECT_EQ(parsed(header(m, "t"), "t")["tuned"], 0);
  EXPECT_EQ(parsed(header(m, "t"), "t")["frequency"], 1.4505e9);
}

TEST(Wire, WritesEveryKeyOfTheFormat) {
  const PortFormat f = packets_format();
  Message m = message_of(f);
  m.seq = 18446744073709551615ull;
  m.sample = 123456789012;
  m.time_ns = 1700000000123456789;
  m.time = TimeSource::radio;
  m.extent = 3;
  m.gap = 5;
  m.dropped = 7;
  m.halo = 11;
  const json expected = {{"v", 1},
                         {"pipeline", "telemetry"},
                         {"port", "detector.bits"},
                         {"seq", 18446744073709551615ull},
                         {"sample", 123456789012},
                         {"time_ns", 1700000000123456789},
                         {"time", "radio"},
                         {"datatype", "ru8"},
                         {"dtype", "<u1"},
                         {"shape", {3, 6}},
                         {"dims", {"packet", "bit"}},
                         {"sample_rate", 20.625e6},
                         {"frequency", 1.4515e9},
                         {"gap", 5},
                         {"dropped", 7},
                         {"halo", 11}};
  EXPECT_EQ(parsed(header(m, "bits"), "bits"), expected);
}

TEST(Wire, ComplexIntegersArePairsOfIntegers) {
  PortFormat f;
  f.element = Element::sc16;
  f.dims = {{"channel", 2}, {"n", 4096}};
  f.varying = 1;
  Message m = message_of(f);
  m.extent = 100;
  const json j = parsed(header(m, "iq"), "iq");
  EXPECT_EQ(j["dtype"], "<i2");
  EXPECT_EQ(j["datatype"], "ci16_le");
  EXPECT_EQ(j["shape"], (json{2, 100, 2}));
  EXPECT_EQ(j["dims"], (json{"channel", "n", "iq"}));
}

TEST(Wire, SaysTheItemRateWhereItIsNotTheSampleRate) {
  PortFormat f = packets_format();
  const Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("item_rate"));
  f.item_rate_hz = f.rate_hz;
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("item_rate"));
  f.item_rate_hz = f.rate_hz / 4;
  EXPECT_EQ(parsed(header(m, "t"), "t")["item_rate"], f.rate_hz / 4);
}

TEST(Wire, SaysTheSpanWhereItIsNotTheItemRate) {
  PortFormat f = packets_format();
  Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("span")) << "not known";
  f.span_hz = 40e3;
  EXPECT_EQ(parsed(header(m, "t"), "t")["span"], 40e3);
  m.respanned_hz = 5e3;
  EXPECT_EQ(parsed(header(m, "t"), "t")["span"], 45e3);
  f.item_rate_hz = 45e3;
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("span")) << "is the item rate";
}

TEST(Wire, SaysWhetherTheSpectrumIsMirrored) {
  PortFormat f = packets_format();
  Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("mirrored"));
  f.mirrored = true;
  EXPECT_EQ(parsed(header(m, "t"), "t")["mirrored"], true);
}

TEST(Wire, AxesFollowTheFrequency) {
  PortFormat f = packets_format();
  f.dims = {{"channel", 3}, {"frame", 8}, {"bin", 4}};
  f.varying = 1;
  Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("axes"));
  f.dims[2].frequencies = {.first_hz = -2000, .step_hz = 1000};
  EXPECT_EQ(parsed(header(m, "t"), "t")["axes"],
            json::parse(R"({"bin": {"first": 1451498000.0, "step": 1000.0, "unit": "Hz"}})"));
  f.dims[2].frequencies = {.first_hz = 0, .step_hz = 1000, .wrap = 2};
  EXPECT_EQ(parsed(header(m, "t"), "t")["axes"],
            json::parse(R"({"bin": {"first": 1451500000.0, "step": 1000.0, "wrap": 2, "unit": "Hz"}})"));
  f.dims[2].frequencies = {.first_hz = -2000, .step_hz = 1000};
  f.dims[0].frequencies = {.values_hz = {0, 5e6, -5e6}};
  m.retuned_hz = 1e6;
  EXPECT_EQ(parsed(header(m, "t"), "t")["axes"],
            json::parse(R"({"channel": {"values": [1452500000.0, 1457500000.0, 1447500000.0], "unit": "Hz"},
                            "bin": {"first": 1452498000.0, "step": 1000.0, "unit": "Hz"}})"));
}

TEST(Wire, SaysWhetherACalibrationHoldsWhereThereIsOne) {
  PortFormat f = packets_format();
  Message m = message_of(f);
  EXPECT_FALSE(parsed(header(m, "t"), "t").contains("calibrated"));
  f.calibrated = true;
  EXPECT_EQ(parsed(header(m, "t"), "t")["calibrated"], false);
  m.calibrated = true;
  EXPECT_EQ(parsed(header(m, "t"), "t")["calibrated"], true);
}

TEST(Wire, FactsAreObjectsNamedAfterTheVaryingDimension) {
  const PortFormat f = packets_format();
  const std::array<std::int64_t, 2> start{1'000'000, 2'031'250};
  const std::array<float, 2> noise{0.5f, INFINITY};
  const std::array<cf32, 2> gain{cf32{1, -2}, cf32{NAN, 0}};
  const std::array<f16, 2> metric{to_f16(0.25f), to_f16(1.0f)};
  const auto bytes = [](const auto& a) { return reinterpret_cast<const std::byte*>(a.data()); };
  const std::array<FactColumn, 4> facts{{{"start", Element::i64, bytes(start)},
                                         {"noise", Element::f32, bytes(noise)},
                                         {"gain", Element::cf32, bytes(gain)},
                                         {"metric", Element::f16, bytes(metric)}}};
  Message m = message_of(f);
  m.extent = 2;
  m.facts = facts;
  m.sample = 958'750;  // 41,250 samples, 2 ms, after the first start
  m.time_ns = 1'000'000'000;
  const json expected = json::parse(R"([
      {"start":1000000,"time_ns":1002000000,"noise":0.5,"gain":[1.0,-2.0],"metric":0.25},
      {"start":2031250,"time_ns":1052000000,"noise":null,"gain":[null,0.0],"metric":1.0}])");
  EXPECT_EQ(parsed(header(m, "bits", 4, 2), "bits")["packets"], expected);
  m.extent = 0;
  EXPECT_EQ(parsed(header(m, "bits", 4, 2), "bits")["packets"], json::array());
  // After a decimator by 8/3, a start is still given in source samples.
  const std::array<FactColumn, 1> decimated{{{"start", Element::i64, bytes(start), 3, 8}}};
  m.extent = 1;
  m.facts = decimated;
  EXPECT_EQ(parsed(header(m, "bits", 4, 2), "bits")["packets"][0]["start"], 2'666'666);
}

TEST(Wire, EntriesThatHaveNamesAreNamed) {
  PortFormat f = packets_format();
  EXPECT_FALSE(parsed(header(message_of(f), "t"), "t").contains("llr_scale"));
  f.dims.insert(f.dims.begin() + 1, {"kind", 2, {"zf", "mm\"se"}});
  f.llr_scale = 0.125;
  const json j = parsed(header(message_of(f), "t"), "t");
  EXPECT_EQ(j["kinds"], (json{"zf", "mm\"se"}));
  EXPECT_EQ(j["llr_scale"], 0.125);
  EXPECT_EQ(j["dims"], (json{"packet", "kind", "bit"}));
}

TEST(Wire, StringsAreEscapedAndNumbersThatAreNoneBecomeNull) {
  PortFormat f = packets_format();
  f.pipeline = "quote\" back\\slash \n\x01\x7f µ";
  f.rate_hz = std::numeric_limits<double>::quiet_NaN();
  f.frequency_hz = -INFINITY;
  const std::string frame = header(message_of(f), "t");
  EXPECT_EQ(frame.find('\n'), std::string::npos);
  const json j = parsed(frame, "t");
  EXPECT_EQ(j["pipeline"], f.pipeline);
  EXPECT_TRUE(j["sample_rate"].is_null());
  EXPECT_TRUE(j["frequency"].is_null());
}

TEST(Wire, ReturnsNothingWhereItDoesNotFit) {
  const PortFormat f = packets_format();
  const Message m = message_of(f);
  const std::string whole = header(m, "bits");
  for (std::size_t room = 0; room < whole.size(); ++room) {
    std::vector<char> into(room);
    ASSERT_EQ(write_header(m, "bits", into), 0u) << room;
  }
  std::vector<char> into(whole.size());
  EXPECT_EQ(write_header(m, "bits", into), whole.size());
}

TEST(Wire, TheBoundHoldsForTheLongestOfEverything) {
  PortFormat f;
  f.pipeline = std::string(50, '\x01');
  f.port = std::string(70, '"');
  f.element = Element::sc16;
  f.dims = {{std::string(30, '\x02'), INT64_MIN}, {"packet", INT64_MIN}, {"x", INT64_MIN}};
  f.varying = 1;
  f.rate_hz = f.frequency_hz = -1.7976931348623157e308;
  f.span_hz = 1.7976931348623157e308;
  f.mirrored = true;
  f.dims[0].frequencies = {.first_hz = -1.7e300, .step_hz = -1.7976931348623157e308, .wrap = INT64_MAX};
  f.dims[1].frequencies = {.values_hz = std::vector<double>(50, 1.7976931348623155e291)};
  f.item_rate_hz = 2.2250738585072014e-308;
  const std::int64_t items = 3;
  const std::vector<std::int64_t> low(items, INT64_MIN);
  const std::vector<cf32> small(items, cf32{-1.17549435e-38f, -1.17549435e-38f});
  const std::string key(kFactKeyMost, 'k');
  const std::array<FactColumn, 2> facts{{{key, Element::i64, reinterpret_cast<const std::byte*>(low.data())},
                                         {key, Element::cf32, reinterpret_cast<const std::byte*>(small.data())}}};
  Message m = message_of(f);
  m.seq = UINT64_MAX;
  m.sample = m.time_ns = INT64_MIN;
  m.extent = items;
  m.gap = m.dropped = m.halo = INT64_MIN;
  m.facts = facts;
  std::vector<char> into(header_bound(f, 5, 2, items));
  EXPECT_GT(write_header(m, "topic", into), 0u);
}

}  // namespace
}  // namespace iqd
