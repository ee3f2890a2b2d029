// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The keys of the driver, without a device; tests/system/uhd_test.py has a simulated one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "radio/drivers.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LiveKeys final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef, const FieldInfo& info) override {
    if (info.live) keys.insert(std::string(key));
  }
  std::set<std::string> keys;
};

/// The problems, except for the missing UHD build.
template <class F> std::vector<std::string> without_the_build(F f) {
  std::vector<std::string> texts = complaints(f);
  std::erase_if(texts, [](const std::string& text) { return text.find("built without UHD") != std::string::npos; });
  return texts;
}

TEST(UhdSource, DescribesItselfWithoutADevice) {
  UhdSourceOptions o;
  assign(o, {{"args", "addr0=192.168.10.2,addr1=192.168.10.3"},
             {"channels", "0,1,2"},
             {"rate", "20e6"},
             {"frequency", "2.4e9"},
             {"clock_source", "external"},
             {"wire_format", "sc12"},
             {"format", "cf32"}});
  StreamInfo info;
  EXPECT_THAT(without_the_build([&](const Section& s) { info = o.describe(s); }), IsEmpty());
  EXPECT_EQ(info.element, Element::cf32);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.rate_hz, 20e6);
  EXPECT_EQ(info.frequency_hz, 2.4e9);
  EXPECT_TRUE(info.reconnects);
  EXPECT_FALSE(info.can_wait);
  EXPECT_EQ(o.settings().wire_format, WireFormat::sc12);
}

TEST(UhdSource, WhatIsWrongIsSaidWithoutADevice) {
  UhdSourceOptions o;
  assign(o, {{"channels", "1,0,1"}, {"rate", "1e6"}, {"resample", "true"}, {"accept_rate", "true"}});
  EXPECT_THAT(without_the_build([&](const Section& s) { o.describe(s); }),
              ElementsAre(HasSubstr("channel 1"), AllOf(HasSubstr("resample"), HasSubstr("accept_rate"))));
}

TEST(UhdSource, SaysWhichRadioItAsksFor) {
  UhdSourceOptions o;
  assign(o, {{"args", "addr=1.2.3.4"},
             {"channels", "1,0"},
             {"rate", "1e6"},
             {"gain", "20"},
             {"wire_format", "sc12"},
             {"resample", "true"},
             {"calibration", "table.yaml"}});
  const RadioRequest radio = o.radio().value();
  EXPECT_EQ(radio.args, "addr=1.2.3.4");
  EXPECT_THAT(radio.channels, ElementsAre(1, 0));
  EXPECT_EQ(radio.rate_hz, 1e6);
  EXPECT_EQ(radio.gain_db, 20);
  EXPECT_EQ(radio.wire_bytes, 3);
  EXPECT_TRUE(radio.resample);
  EXPECT_EQ(o.calibration(), "table.yaml");
}

TEST(UhdSource, FrequencyAndGainMayChangeLive) {
  LiveKeys source;
  UhdSourceOptions().fields(source);
  EXPECT_THAT(source.keys, ElementsAre("antenna", "bandwidth", "frequency", "gain"));
  LiveKeys sink;
  UhdSinkOptions().fields(sink);
  EXPECT_THAT(sink.keys, IsEmpty()) << "a transmitter is not retuned";
}

TEST(UhdSink, APortThatDoesNotFitIsRefused) {
  UhdSinkOptions o;
  assign(o, {{"channels", "0,1"}, {"rate", "2e6"}});
  const auto check = [&](const PortFormat& f) { return without_the_build([&](const Section& s) { o.check(f, s); }); };
  EXPECT_THAT(check(stream_format(Element::sc16, 2)), ElementsAre(AllOf(HasSubstr("1000000"), HasSubstr("2000000"))));
  EXPECT_THAT(check(stream_format(Element::cf32)), Contains(HasSubstr("1 channel")));
  EXPECT_THAT(check(stream_format(Element::f32, 2)), Contains(HasSubstr("convert")));
}

TEST(UhdSink, WhatIsPermittedIsKnownWithoutADevice) {
  UhdSinkOptions o;
  assign(o, {{"frequency", "869e6"}, {"power", "10"}, {"permitted_bands", "868e6,870e6"}, {"permitted_powers", "14"}});
  const auto check = [&] {
    return without_the_build([&](const Section& s) { o.check(stream_format(Element::sc16), s); });
  };
  EXPECT_THAT(check(), IsEmpty());
  assign(o, {{"power", "15"}});
  EXPECT_THAT(check(), ElementsAre(HasSubstr("power: of 15 dBm is above the limit of 14 dBm")));
  assign(o, {{"gain", "20"}, {"power", "10"}});
  EXPECT_THAT(check(), ElementsAre(AllOf(HasSubstr("power: "), HasSubstr("not both"))));
  EXPECT_TRUE(o.reconnects());
}

TEST(UhdSink, ItIsAsWideAsItsRateOrItsFilter) {
  UhdSinkOptions o;
  assign(o, {{"frequency", "868.4e6"}, {"permitted_bands", "868e6,870e6"}});
  const auto check = [&] {
    return without_the_build([&](const Section& s) { o.check(stream_format(Element::sc16), s); });
  };
  EXPECT_THAT(check(), ElementsAre(HasSubstr("frequency: needs 867.9 to 868.9 MHz")));
  assign(o, {{"bandwidth", "500e3"}});
  EXPECT_THAT(check(), IsEmpty());
}

TEST(Uhd, ABuildWithoutItSaysSo) {
  UhdSourceOptions source;
  assign(source, {{"rate", "1e6"}});
  UhdSinkOptions sink;
  const auto wrong = complaints([&](const Section& s) {
    source.describe(s);
    sink.check(stream_format(Element::sc16), s);
  });
  EXPECT_EQ(wrong.size(), is_built_in() ? 0u : 2u);
  EXPECT_THAT(wrong, Each(HasSubstr("built without UHD")));
  EXPECT_EQ(find_driver("uhd")->probe != nullptr, is_built_in());
}

TEST(Uhd, WhereThereIsNoDeviceOpeningSaysWhy) {
  UhdSourceOptions o;
  assign(o, {{"args", "type=usrp1,serial=none_such"}, {"rate", "1e6"}});
  try {
    o.open();
    FAIL() << "it was opened";
  } catch (const SetupError& e) {
    EXPECT_THAT(std::string(e.what()), is_built_in() ? HasSubstr("uhd 'type=usrp1,serial=none_such': cannot open it")
                                                     : HasSubstr("built without UHD"));
  }
}

}  // namespace
}  // namespace iqd::radio::usrp
