// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/status_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/ask/key_table.hpp"
#include "daemon/http/status.hpp"
#include "tests/support/fake_service.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class AskedStatus : public ::testing::Test {
 protected:
  json status(double uptime_s) const { return json::parse(status_json(service_.statuses(), uptime_s, false)); }
  testing::FakeService service_;
};

TEST_F(AskedStatus, HasWhatAnOperatorAsksFor) {
  PipelineStatus& s = service_.status.front();
  s.received = 1000;
  const json before = status(10);
  s.received += 1'500'000;
  s.dropped[0] = 12;
  s.lost = 34;
  s.tallies = {{{"squelch", "opened", "", ""}, 5}};
  const std::string text = status_table(status(12), before, "");
  for (const char* part :
       {"test", "streaming (radio on cuda:0, 16 SM)", "750.000 kS/s of 1 MS/s (75.0 %)", "34 samples lost by the radio",
        "12 dropped (lanes)", "6 late", "a block lasts 1 ms", "433 MHz", "clock +2.5 ppm",
        "0: -20.5 dBFS, peak -17.0, 9 clipped, overloaded", "squelch opened 5",
        "window.out → a: 7 messages, 1 refused, 2 underflows", "tcp://127.0.0.1:5555: 2 readers, 5 failed handshakes"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(AskedStatus, OfOnePipeline) {
  service_.status.push_back(service_.status.front());
  service_.status.back().name = "second";
  EXPECT_THAT(status_table(status(2), status(1), ""), HasSubstr("test"));
  EXPECT_THAT(status_table(status(2), status(1), "second"), Not(HasSubstr("test")));
}

TEST_F(AskedStatus, WithoutAnEarlierLookTheRateIsUnknown) {
  service_.status.front().state = SourceState::reconnecting;
  service_.status.front().trouble = "unplugged";
  const std::string text = status_table(status(2), {{"uptime_s", 2}, {"pipelines", json::array()}}, "");
  EXPECT_THAT(text, HasSubstr("unknown of 1 MS/s"));
  EXPECT_THAT(text, HasSubstr("reconnecting: unplugged"));
  EXPECT_THAT(text, HasSubstr("none, 6 late"));
}

TEST(Duration, IsShort) {
  EXPECT_EQ(uptime_text(3.9), "3 s");
  EXPECT_EQ(uptime_text(125), "2 min 5 s");
  EXPECT_EQ(uptime_text(3840), "1 h 4 min");
  EXPECT_EQ(uptime_text(266400), "3 d 2 h");
}

TEST(KeyTable, ShowsValuesWithUnits) {
  const json keys = {
      {"gain",
       {{"value", 30},
        {"asked", 30.5},
        {"unit", "dB"},
        {"range", {0, 60}},
        {"default", nullptr},
        {"live", true},
        {"by", "patch"},
        {"since", 1.7e9}}},
      {"antenna", {{"value", "RX2"}, {"choices", {"RX2", "TX/RX"}}, {"default", ""}, {"live", true}, {"by", "file"}}},
      {"rate", {{"value", 20625000}, {"unit", "S/s"}, {"range", {1, nullptr}}, {"live", false}, {"by", "file"}}}};
  const std::string text = key_table(keys);
  EXPECT_THAT(text, HasSubstr("gain     30 dB (asked for 30.5 dB)  0 … 60 dB   none        live  patch"));
  EXPECT_THAT(text, HasSubstr("RX2, TX/RX"));
  EXPECT_THAT(text, HasSubstr("20.625 MS/s"));
  EXPECT_THAT(text, HasSubstr("≥ 1 S/s"));
  EXPECT_THAT(text, HasSubstr("(required)"));
  EXPECT_THAT(key_table(keys, "gain"), Not(HasSubstr("rate")));
  EXPECT_EQ(set_text(keys["rate"]), "20.625 MS/s");
}

}  // namespace
}  // namespace iqd
