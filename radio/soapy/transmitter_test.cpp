// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// When a transmitter is on, and what happens when its module fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/soapy/scripted_device_for_test.hpp"
#include "radio/soapy/soapy_sink.hpp"
#include "radio/soapy/soapy_source.hpp"

namespace iqd::radio::soapy {
namespace {

using scripted::script;
using ::testing::ElementsAre;
using Values = std::map<std::string, std::string>;

/// A transmitter on a module that records when it is on.
class ScriptedTransmitter : public ::testing::Test {
 protected:
  void SetUp() override { scripted::begin().tells_streams = true; }
  std::unique_ptr<Sink> transmitter(Values values = {}) {
    SoapySinkOptions o;
    values.emplace("args", "driver=scripted");
    assign(o, values);
    return o.open(format_);
  }
  bool send(Sink& sink) { return sink.send(message_of(format_, 0, std::span<const sc16>(samples_))); }
  template <class F> static bool eventually(F ready) {
    for (int i = 0; i < 3000 && !ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ready();
  }
  static std::vector<std::string> told() {
    const std::lock_guard lock(scripted::mutex());
    return std::exchange(script().told, {});
  }

  PortFormat format_ = stream_format(Element::sc16);
  std::vector<sc16> samples_ = std::vector<sc16>(100);
};

TEST_F(ScriptedTransmitter, IsOnOnlyWhileSamplesCome) {
  auto sink = transmitter({{"gain", "20"}});
  EXPECT_THAT(told(), ElementsAre("gain 20", "gain 0", "on")) << "silent until the first sample";
  EXPECT_TRUE(send(*sink));
  EXPECT_TRUE(send(*sink));
  EXPECT_THAT(told(), ElementsAre("gain 20", "100", "100"));
  std::vector<std::string> seen;
  ASSERT_TRUE(eventually([&] {
    for (std::string& one : told()) seen.push_back(std::move(one));
    return seen.size() >= 3;
  })) << "no more samples";
  EXPECT_THAT(seen, ElementsAre("end", "gain 0", "off"));
  EXPECT_TRUE(send(*sink));
  EXPECT_THAT(told(), ElementsAre("on", "gain 20", "100"));
  sink->finish();
  sink.reset();
  EXPECT_THAT(told(), ElementsAre("end", "gain 0", "off"));
}

TEST_F(ScriptedTransmitter, ElementsOfItsGainAreTakenAwayOneByOne) {
  auto sink = transmitter({{"gains", "LNA=20 dB"}});
  EXPECT_THAT(told(), ElementsAre("LNA0 20", "LNA0 0", "on"));
}

TEST_F(ScriptedTransmitter, WhateverAModuleThrowsIsAnException) {
  auto sink = transmitter();
  for (int what = 0; what < 3; ++what) {
    script().write = [what](std::size_t most, int) -> int {
      if (what == 0) throw 42;
      if (what == 1) throw std::string("text");
      return static_cast<int>(most) + 1;
    };
    EXPECT_THROW(send(*sink), std::exception) << what;
  }
}

/// The source of the same device has found it gone. Without samples, the transmitter would not notice.
TEST_F(ScriptedTransmitter, LetsGoOfADeviceThatOthersFoundGone) {
  auto sink = transmitter();
  SoapySourceOptions receiver;
  assign(receiver, Values{{"args", "driver=scripted"}, {"rate", "1e6"}});
  std::unique_ptr<Source> source = receiver.open();
  EXPECT_EQ(scripted::Device::alive, 1) << "they share the device";
  script().read = [](auto...) { return SOAPY_SDR_STREAM_ERROR; };
  std::byte* const memory = reinterpret_cast<std::byte*>(samples_.data());
  EXPECT_THROW(source->receive({&memory, 1}, 10), std::exception);
  source.reset();
  EXPECT_TRUE(eventually([] { return scripted::Device::alive == 0; }));
  EXPECT_TRUE(send(*sink)) << "it is opened again";
  EXPECT_EQ(scripted::Device::alive, 1);
}

}  // namespace
}  // namespace iqd::radio::soapy
