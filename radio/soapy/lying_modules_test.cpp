// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The driver against a module that violates the API, and one that has every feature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/soapy/listing.hpp"
#include "radio/soapy/scripted_device_for_test.hpp"
#include "radio/soapy/soapy_sink.hpp"
#include "radio/soapy/soapy_source.hpp"

namespace iqd::radio::soapy {
namespace {

using scripted::script;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Event = Received::Event;
using Values = std::map<std::string, std::string>;

SoapySourceOptions options(Values values = {}) {
  SoapySourceOptions o;
  values.emplace("args", "driver=scripted");
  values.emplace("rate", "1e6");
  assign(o, values);
  return o;
}

std::string error_of(const SourceOptions& o) {
  try {
    o.open();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "no error";
}

class ScriptedModule : public ::testing::Test {
 protected:
  void SetUp() override { begin(); }
  scripted::Script& begin() {
    source_.reset();
    return scripted::begin();
  }
  void open(Values values = {}) {
    source_ = options(std::move(values)).open();
    memory_.assign(static_cast<std::size_t>(source_->info().channels), std::vector<sc16>(8192));
  }
  Received receive(std::int64_t most = 4096) {
    std::vector<std::byte*> into;
    for (auto& m : memory_) into.push_back(reinterpret_cast<std::byte*>(m.data()));
    try {
      return source_->receive(into, most);
    } catch (const std::exception& e) {
      said_ = e.what();
    }
    Received got;
    got.event = Event::failed;
    return got;
  }

  std::unique_ptr<Source> source_;
  std::vector<std::vector<sc16>> memory_;
  std::string said_;  // of the last failure
};

TEST_F(ScriptedModule, EveryErrorCodeIsAnEventOfItsKind) {
  int code = 0;
  script().read = [&](auto...) { return code; };
  open();
  const std::map<int, Event> due{{0, Event::nothing},
                                 {SOAPY_SDR_TIMEOUT, Event::nothing},
                                 {SOAPY_SDR_STREAM_ERROR, Event::failed},
                                 {SOAPY_SDR_CORRUPTION, Event::sequence},
                                 {SOAPY_SDR_OVERFLOW, Event::overflow},
                                 {SOAPY_SDR_NOT_SUPPORTED, Event::failed},
                                 {SOAPY_SDR_TIME_ERROR, Event::late},
                                 {SOAPY_SDR_UNDERFLOW, Event::failed},
                                 {-100, Event::failed},
                                 {std::numeric_limits<int>::min(), Event::failed}};
  for (const auto& [given, event] : due) {
    code = given;
    said_.clear();
    EXPECT_EQ(receive().event, event) << given;
    EXPECT_THAT(said_, event == Event::failed ? HasSubstr(SoapySDR_errToStr(given)) : HasSubstr("")) << given;
  }
}

TEST_F(ScriptedModule, ErrorsWithoutEndTakeNoProcessor) {
  script().read = [](auto...) { return SOAPY_SDR_OVERFLOW; };
  open();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 116; ++i) EXPECT_EQ(receive().event, Event::overflow);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(95));
}

TEST_F(ScriptedModule, ChannelsOfOneStreamHaveOneRate) {
  script().granted_of[1] = 2e6;
  EXPECT_THAT(error_of(options({{"channels", "0,1"}, {"accept_rate", "true"}})),
              AllOf(HasSubstr("channel 1 has 2000000"), HasSubstr("choose a rate")));
}

TEST_F(ScriptedModule, MoreSamplesThanAskedForIsAFailure) {
  script().read = [](void* const*, std::size_t most, int&, long long&) { return static_cast<int>(most) + 1; };
  open();
  EXPECT_EQ(receive().event, Event::failed);
}

TEST_F(ScriptedModule, ATimeThatCannotBeIsNone) {
  long long time = 0;
  script().read = [&](void* const*, std::size_t, int& flags, long long& time_ns) {
    flags = SOAPY_SDR_HAS_TIME;
    time_ns = time;
    return 10;
  };
  open();
  for (const long long t : {std::numeric_limits<long long>::min(), std::numeric_limits<long long>::max()}) {
    time = t;
    EXPECT_FALSE(receive().has_time) << t;
  }
  time = 1'700'000'000'000'000'000;
  EXPECT_TRUE(receive().has_time);
}

/// At 1 MS/s: ten samples, 90 us without samples, ten more after a time-out, and ten that follow directly.
TEST_F(ScriptedModule, BurstsArePiecesAndWhatIsBetweenThemIsLost) {
  constexpr long long kStart = 1'700'000'000'000'000'000;
  long long time = kStart;
  int code = 10, more = SOAPY_SDR_END_BURST;
  script().read = [&](void* const*, std::size_t, int& flags, long long& time_ns) {
    flags = SOAPY_SDR_HAS_TIME | more;
    time_ns = time;
    return code;
  };
  open();
  EXPECT_TRUE(receive().ends);
  code = SOAPY_SDR_TIMEOUT;
  EXPECT_TRUE(receive().ends) << "the next burst may come at any time";
  code = 10;
  time = kStart + 100'000;
  more = 0;
  const Received next = receive();
  EXPECT_EQ(next.lost, 90);
  EXPECT_FALSE(next.ends);
  code = SOAPY_SDR_TIMEOUT;
  EXPECT_FALSE(receive().ends) << "within a burst, silence is not the end";
  code = 10;
  time += 10'000;
  more = SOAPY_SDR_END_BURST;
  EXPECT_EQ(receive().lost, 0);
  time -= 1'000'000;
  EXPECT_EQ(receive().lost, 0) << "the clock was set back";
}

/// A time stamp with the first samples of a burst and none with its last; the module's clock starts at 0.
TEST_F(ScriptedModule, OneTimeStampInABurstWillDo) {
  int n = 0;
  script().read = [&](void* const*, std::size_t, int& flags, long long& time_ns) {
    flags = n % 2 == 0 ? SOAPY_SDR_HAS_TIME : SOAPY_SDR_END_BURST;
    time_ns = n % 2 == 0 ? 1'000'000 * n : std::numeric_limits<long long>::min();
    ++n;
    return 10;
  };
  open();
  EXPECT_FALSE(receive().ends);
  EXPECT_TRUE(receive().ends);
  EXPECT_EQ(receive().lost, 1980) << "2 ms less twenty samples";
  EXPECT_TRUE(receive().ends);
}

TEST_F(ScriptedModule, BurstsWithoutAnyTimeAreSamples) {
  script().read = [](void* const*, std::size_t, int& flags, long long&) {
    flags = SOAPY_SDR_END_BURST;
    return 10;
  };
  open();
  EXPECT_FALSE(receive().ends);
}

TEST_F(ScriptedModule, TimesThatCannotBeAddedAreNone) {
  long long time = -4'000'000'000'000'000'000;
  script().read = [&](void* const*, std::size_t, int& flags, long long& time_ns) {
    flags = SOAPY_SDR_HAS_TIME;
    time_ns = time;
    return 10;
  };
  open();
  EXPECT_TRUE(receive().has_time);
  time = -time;
  EXPECT_FALSE(receive().has_time);
}

TEST_F(ScriptedModule, WhateverThrowsItIsAnErrorOrAFailure) {
  for (const char* call : {"getNumChannels", "getSampleRate", "getNativeStreamFormat", "setupStream"}) {
    scripted::throw_from(call);
    EXPECT_THAT(error_of(options()), HasSubstr(std::string(call) + " threw")) << call;
  }
  for (const char* call : {"activateStream", "readStream"}) {
    scripted::throw_from(call);
    open();
    EXPECT_EQ(receive().event, Event::failed) << call;
  }
  for (const char* call : {"listSensors", "getNumDirectAccessBuffers", "getStreamMTU", "closeStream"}) {
    scripted::throw_from(call);
    script().read = [](auto...) { return 10; };
    open();
    EXPECT_EQ(receive().samples, 10) << call;
    source_.reset();
  }
  scripted::throw_from("");
  open();
  scripted::throw_from("all");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(receive().event, Event::failed);
  source_.reset();
}

TEST_F(ScriptedModule, WhatItDoesNotTakeIsRefusedWhileItAnswers) {
  const auto retuned = [this](const std::string& db) -> std::string {
    try {
      source_->retune(options({{"gain", db}}));
    } catch (const NotNow& e) {
      return std::string("not now: ") + e.what();
    } catch (const SetupError& e) {
      return e.what();
    }
    return "";
  };
  open({{"gain", "10"}});
  scripted::throw_from("setGain");
  EXPECT_EQ(retuned("20"), "soapy 'driver=scripted': cannot set the gain: setGain threw");
  scripted::throw_from("");
  EXPECT_EQ(retuned("90"), "soapy 'driver=scripted': gain 90 is out of range (0 to 80)");
  scripted::throw_from("all");
  EXPECT_THAT(retuned("20"), AllOf(HasSubstr("not now: "), HasSubstr("the radio does not answer")));
  scripted::throw_from("");
  EXPECT_EQ(retuned("20"), "");
  EXPECT_EQ(script().told.back(), "gain 20");
}

TEST_F(ScriptedModule, WhatMakesNoStreamIsSaid) {
  script().no_stream = true;
  EXPECT_THAT(error_of(options()), HasSubstr("stream"));
  script().no_stream = false;
  for (const double rate : {std::nan(""), 0.0, -1e6, HUGE_VAL}) {
    script().granted_hz = rate;
    EXPECT_THAT(error_of(options({{"accept_rate", "true"}})), HasSubstr("samples a second")) << rate;
  }
  script().granted_hz = 1e6;
  script().activated = SOAPY_SDR_STREAM_ERROR;
  open();
  EXPECT_EQ(receive().event, Event::failed);
}

TEST_F(ScriptedModule, AFullScaleThatCannotBeIsThatOfTheFormat) {
  for (const double scale : {std::nan(""), 0.0, -1.0, 1e9}) {
    script().full_scale = scale;
    open();
    EXPECT_EQ(source_->info().full_scale, 32768) << scale;
  }
  script().full_scale = 2048;
  open();
  EXPECT_EQ(source_->info().full_scale, 2048);
}

/// Buffers as a driver has them: each channel counts; the next buffer comes once the last one is released.
class DirectModule : public ScriptedModule {
 protected:
  void SetUp() override {
    ScriptedModule::SetUp();
    for (std::size_t c = 0; c < 2; ++c) buffer_[c].resize(1000);
    script().direct_buffers = 1;
    script().mtu = 1000;
    script().acquire = [this](std::size_t& handle, const void** buffers, int& flags, long long& time_ns) {
      if (held_) return SOAPY_SDR_OVERFLOW;
      held_ = true;
      handle = ++handle_;
      flags = SOAPY_SDR_HAS_TIME | more_;
      time_ns = 1'700'000'000'000'000'000 + place_ * 1000;
      for (std::size_t c = 0; c < 2; ++c) {
        for (sc16& x : buffer_[c])
          x = {static_cast<std::int16_t>(&x - buffer_[c].data() + place_), static_cast<std::int16_t>(c)};
        buffers[c] = buffer_[c].data();
      }
      place_ += 1000;
      return 1000;
    };
    script().release = [this](std::size_t handle) {
      EXPECT_TRUE(held_);
      EXPECT_EQ(handle, handle_);
      held_ = false;
    };
  }
  std::vector<sc16> buffer_[2];
  std::int64_t place_ = 0;
  std::size_t handle_ = 40;
  bool held_ = false;
  int more_ = 0;  // flags
};

TEST_F(DirectModule, ItsBuffersAreReadInPieces) {
  open({{"channels", "0,1"}});
  for (std::int64_t place = 0; place < 3000;) {
    const Received got = receive(700);
    ASSERT_EQ(got.event, Event::samples);
    EXPECT_EQ(got.samples, place % 1000 == 0 ? 700 : 300);
    EXPECT_EQ(got.has_time, place % 1000 == 0) << "a buffer has one time stamp";
    if (got.has_time) {
      EXPECT_EQ(got.time_ns, 1'700'000'000'000'000'000 + place * 1000);
    }
    for (std::int16_t c = 0; c < 2; ++c)
      EXPECT_EQ(memory_[static_cast<std::size_t>(c)][0], (sc16{static_cast<std::int16_t>(place), c}));
    place += got.samples;
  }
  EXPECT_FALSE(held_);
  receive(10);
  EXPECT_TRUE(held_);
  source_.reset();
  EXPECT_FALSE(held_) << "a buffer is released before the stream is closed";
}

TEST_F(DirectModule, ABurstEndsWithTheLastPieceOfABuffer) {
  more_ = SOAPY_SDR_END_BURST;
  open({{"channels", "0,1"}});
  EXPECT_FALSE(receive(700).ends);
  EXPECT_TRUE(receive(700).ends);
  place_ += 500;
  EXPECT_EQ(receive(700).lost, 500);
  EXPECT_TRUE(receive(700).ends) << "and the buffer is released";
}

TEST_F(DirectModule, TheyAreLeftAloneWhereTheyHoldAnotherFormat) {
  script().native = "CS8";
  script().read = [](auto...) { return 17; };
  open();
  EXPECT_EQ(receive().samples, 17);
  EXPECT_EQ(place_, 0);
}

TEST_F(DirectModule, AModuleWithoutThemAfterAllIsReadAsOthers) {
  script().acquire = [](auto&&...) { return SOAPY_SDR_NOT_SUPPORTED; };
  script().read = [](auto...) { return 17; };
  open();
  EXPECT_EQ(receive().samples, 17);
}

TEST_F(DirectModule, LiesAboutThemAreFailures) {
  script().acquire = [this](std::size_t&, const void** buffers, int&, long long&) {
    held_ = true;
    handle_ = 0;
    buffers[0] = buffer_[0].data();
    return 1001;
  };
  open();
  EXPECT_EQ(receive().event, Event::failed) << "more than a buffer holds";
  script().acquire = [this](std::size_t&, const void**, int&, long long&) {
    held_ = true;
    handle_ = 0;
    return 10;
  };
  open();
  EXPECT_EQ(receive().event, Event::failed) << "no address";
  for (const int code : {SOAPY_SDR_TIMEOUT, SOAPY_SDR_OVERFLOW, SOAPY_SDR_STREAM_ERROR}) {
    script().acquire = [code](auto&&...) { return code; };
    open();
    EXPECT_EQ(receive().event, code == SOAPY_SDR_TIMEOUT    ? Event::nothing
                               : code == SOAPY_SDR_OVERFLOW ? Event::overflow
                                                            : Event::failed);
  }
}

TEST_F(ScriptedModule, GainElementsAreSetByName) {
  script().gain_mode = true;
  open({{"channels", "0,1"}, {"gains", "LNA=20 dB,VGA=12"}});
  EXPECT_THAT(script().told, ElementsAre("agc off", "LNA0 20", "VGA0 12", "agc off", "LNA1 20", "VGA1 12"));
  begin().gain_mode = true;
  open({{"agc", "true"}});
  EXPECT_THAT(script().told, ElementsAre("agc on"));
  begin();
  open({{"gain", "30"}});
  EXPECT_THAT(script().told, ElementsAre("gain 30"));
}

TEST_F(ScriptedModule, GainsThatCannotBeAreSaid) {
  EXPECT_THAT(error_of(options({{"gains", "LNX=20"}})), AllOf(HasSubstr("LNX"), HasSubstr("LNA, VGA")));
  EXPECT_THAT(error_of(options({{"gains", "LNA=41"}})), HasSubstr("0 to 40 dB"));
  EXPECT_THAT(error_of(options({{"agc", "true"}})), HasSubstr("`agc`"));
  const auto check = [](Values values) {
    return complaints([&](const Section& s) { options(std::move(values)).describe(s); });
  };
  EXPECT_THAT(check({{"gains", "LNA=-1.5 dB"}}), IsEmpty());
  EXPECT_THAT(check({{"gains", "LNA=much"}}), ElementsAre(HasSubstr("'much'")));
  EXPECT_THAT(check({{"gains", "LNA=1"}, {"gain", "2"}}), ElementsAre(HasSubstr("not both")));
  EXPECT_THAT(check({{"agc", "true"}, {"gain", "2"}}), ElementsAre(HasSubstr("agc")));
}

TEST_F(ScriptedModule, SettingsAreWrittenAndUnknownOnesToo) {
  script().listed_settings = {"biastee"};
  open({{"settings", "biastee=true,other=1"}});
  EXPECT_THAT(script().told, ElementsAre("biastee=true", "other=1"));
}

TEST_F(ScriptedModule, WhatADeviceSaysOfItselfIsReadable) {
  script().serial = "17\xff\xfe\n\xc2\xb5";
  open();
  EXPECT_EQ(source_->info().hardware, "scripted radio 17\ufffd\ufffd \u00b5, firmware 1.2, fpga 3");
}

TEST_F(ScriptedModule, WhatSeveralBoardsSayIsOneFact) {
  script().more_info = {
      {"board0_firmware", "7.5.0"}, {"board1_firmware", "7.5.1"}, {"board2_firmware", "7.5.0"}, {"rx_serial", "9"}};
  open();
  const auto facts = open_radios().at(0).facts;
  EXPECT_THAT(facts, ::testing::Contains(::testing::Pair("firmware", "7.5.0, 7.5.1")));
  EXPECT_THAT(facts, ::testing::Contains(::testing::Pair("fw_version", "1.2")))
      << "a different fact with the same name";
  EXPECT_THAT(facts, ::testing::Contains(::testing::Pair("rx_serial", "9")));
  EXPECT_EQ(source_->info().hardware, "scripted radio 17, firmware 7.5.0, 7.5.1, fpga 3");
}

TEST_F(ScriptedModule, SensorsAndWhatItIsStandOnTheListOfOpenRadios) {
  script().sensors = {{"ref_locked", "true"}, {"temperature", "41.5"}, {"clock_rate", "1"}, {"nonsense", "hot"}};
  script().channel_sensors = {{"lo_locked", "false"}};
  open();
  const std::string hardware = source_->info().hardware;
  EXPECT_EQ(hardware, "scripted radio 17, firmware 1.2, fpga 3");
  std::vector<OpenRadio> radios;
  for (int i = 0; i < 500 && (radios.empty() || radios[0].readings.empty()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    radios = open_radios();
  }
  ASSERT_EQ(radios.size(), 1u);
  EXPECT_THAT(radios[0].facts, Contains(Pair("colour", "grey")));
  std::vector<std::string> readings;
  for (const RadioReading& r : radios[0].readings)
    readings.push_back((r.is_lock ? "lock " : "") + r.name + " " + r.of + " " + std::to_string(r.value));
  EXPECT_THAT(readings, ::testing::UnorderedElementsAre("lock reference  1.000000", "temperature  41.500000",
                                                        "clock_rate  1.000000", "lock lo rx 0 0.000000"));
  source_.reset();
  EXPECT_THAT(open_radios(), IsEmpty());
}

}  // namespace
}  // namespace iqd::radio::soapy
