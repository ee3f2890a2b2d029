// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The driver against the simulated radio. Each test has its own serial number, since faults happen once per number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <SoapySDR/Modules.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "radio/drivers.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/soapy/soapy_sink.hpp"
#include "radio/soapy/soapy_source.hpp"
#include "tests/support/built_path.hpp"

namespace iqd::radio::soapy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Event = Received::Event;
using namespace std::chrono_literals;

constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;
using Values = std::map<std::string, std::string>;

void load_simulator() {
  static const std::string error = SoapySDR::loadModule(built_path(IQD_SIM_MODULE, "IQD_SIM_MODULE"));
  ASSERT_TRUE(error.empty() || error.find("already") != std::string::npos) << error;
}

std::string device(const std::string& args) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return "driver=iqdsim,serial=" + std::string(test->name()) + ",pace=false," + args;
}

SoapySourceOptions options(const std::string& args, Values more = {}) {
  load_simulator();
  SoapySourceOptions o;
  more.emplace("args", device(args));
  more.emplace("rate", "1e6");
  more.emplace("format", "cf32");
  assign(o, more);
  return o;
}

/// An open source, with memory for its samples.
struct Opened {
  explicit Opened(const SourceOptions& options, std::size_t most = 1 << 16) : source(options.open()) {
    const StreamInfo info = source->info();
    for (int c = 0; c < info.channels; ++c) memory.emplace_back(most * size_of(info.element));
    for (auto& m : memory) into.push_back(m.data());
  }
  Received receive(std::int64_t most) { return source->receive(into, most); }
  /// Reads `samples` samples, or up to the first other event.
  Received skip(std::int64_t samples) {
    Received got;
    for (std::int64_t done = 0; done < samples; done += got.samples) {
      got = receive(std::min<std::int64_t>(samples - done, 4096));
      if (got.event != Event::samples) break;
    }
    return got;
  }
  const cf32* channel(std::size_t c) const { return reinterpret_cast<const cf32*>(memory[c].data()); }

  std::unique_ptr<Source> source;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> into;
};

std::string error_of(const SourceOptions& o) {
  try {
    o.open();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "no error";
}

TEST(SoapySource, DeliversWhatTheRadioHears) {
  Opened o(options("epoch=1700000000,level=0", {{"channels", "1,3"}, {"frequency", "1.4515e9"}, {"gain", "30"}}));
  const StreamInfo info = o.source->info();
  EXPECT_EQ(info.element, Element::cf32);
  EXPECT_EQ(info.channels, 2);
  EXPECT_EQ(info.rate_hz, 1e6);
  EXPECT_EQ(info.frequency_hz, 1.4515e9);
  EXPECT_EQ(info.time, TimeSource::radio);
  EXPECT_FALSE(info.can_wait);
  EXPECT_TRUE(info.reconnects);
  const Received got = o.receive(1000);
  EXPECT_EQ(got.event, Event::samples);
  EXPECT_EQ(got.samples, 1000);
  EXPECT_TRUE(got.has_time);
  EXPECT_EQ(got.time_ns, kEpoch);
  EXPECT_LT(std::abs(o.channel(0)[0] - std::polar(1.0f, static_cast<float>(M_PI / 4))), 1e-4f);
  EXPECT_LT(std::abs(o.channel(1)[1] - std::polar(1.0f, static_cast<float>(M_PI))), 1e-4f);
  EXPECT_EQ(o.receive(1000).time_ns, kEpoch + 1'000'000);
}

TEST(SoapySource, IntegersHaveAFullScaleOf32768) {
  Opened o(options("level=-6.0205999132796239", {{"format", "sc16"}}));
  EXPECT_EQ(o.source->info().element, Element::sc16);
  ASSERT_EQ(o.receive(8).samples, 8);
  const auto* x = reinterpret_cast<const sc16*>(o.memory[0].data());
  EXPECT_EQ(x[0], (sc16{16384, 0}));
  EXPECT_EQ(x[2], (sc16{0, 16384}));
}

TEST(SoapySource, TimeIsTheHostsWhereTheRadioHasNone) {
  Opened o(options("time=false"));
  EXPECT_EQ(o.source->info().time, TimeSource::host);
  EXPECT_FALSE(o.receive(10).has_time);
}

TEST(SoapySource, TimeThatCountsFromTheRadiosStartIsMovedToTheHosts) {
  Opened o(options("epoch=5"));
  EXPECT_EQ(o.source->info().time, TimeSource::host);
  const std::int64_t first = o.receive(1000).time_ns;
  EXPECT_LT(std::abs(first - wall_ns()), 1'000'000'000);
  EXPECT_EQ(o.receive(1000).time_ns, first + 1'000'000);
}

TEST(SoapySource, SaysOverflow) {
  Opened o(options("epoch=1700000000,overflow_every=5000,overflow_lost=123"));
  EXPECT_EQ(o.skip(5000).event, Event::samples);
  EXPECT_EQ(o.receive(1000).event, Event::overflow);
  EXPECT_EQ(o.receive(1000).time_ns, kEpoch + 5'123'000);
}

TEST(SoapySource, SilentLossShowsInItsTimeStamps) {
  Opened o(options("epoch=1700000000,lose_every=5000,lose=10"));
  o.skip(5000);
  const Received got = o.receive(1000);
  EXPECT_EQ(got.event, Event::samples);
  EXPECT_EQ(got.time_ns, kEpoch + 5'010'000);
}

TEST(SoapySource, StallIsNothingForAWhile) {
  Opened o(options("stall_at=0.005,stall_for=0.15"));
  EXPECT_EQ(o.skip(5000).event, Event::samples);
  const auto start = std::chrono::steady_clock::now();
  int silences = 0;
  while (o.receive(1000).event == Event::nothing) ++silences;
  EXPECT_GE(silences, 1);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 140ms);
  EXPECT_LE(std::chrono::steady_clock::now() - start, 2s);
}

TEST(SoapySource, TimeJumpsAreHandedOn) {
  Opened o(options("epoch=1700000000,jump_at=0.005,jump_by=3"));
  o.skip(5000);
  EXPECT_EQ(o.receive(10).time_ns, kEpoch + 3'005'000'000);
}

TEST(SoapySource, ShortReadsAreDeliveredAsTheyAre) {
  Opened o(options("epoch=1700000000,short_reads=true"));
  std::int64_t done = 0;
  for (int i = 0; i < 50; ++i) {
    const Received got = o.receive(1000);
    ASSERT_EQ(got.event, Event::samples);
    EXPECT_EQ(got.time_ns, kEpoch + done * 1000);
    done += got.samples;
  }
  EXPECT_LT(done, 50'000);
}

TEST(SoapySource, TheDevicesOwnBuffersHoldTheSameStream) {
  const std::string args = "epoch=1700000000,scenario=noise,overflow_every=50000,overflow_lost=7";
  Opened direct(options(args + ",direct_buffers=2", {{"format", "sc16"}, {"channels", "2,0"}}));
  Opened plain(options(args, {{"format", "sc16"}, {"channels", "2,0"}}));
  std::int64_t timed = 0, missing = 0;
  for (std::int64_t done = 0; done < 200'000;) {
    const Received got = direct.receive(5000);
    if (got.event == Event::overflow) {
      EXPECT_EQ((done + missing) % 50'000, 0);
      missing += 7;
      EXPECT_EQ(plain.receive(got.samples).event, Event::overflow);
      continue;
    }
    ASSERT_EQ(got.event, Event::samples);
    const Received same = plain.receive(got.samples);
    ASSERT_EQ(same.samples, got.samples);
    if (got.has_time) {
      EXPECT_EQ(got.time_ns, same.time_ns);
      ++timed;
    }
    for (std::size_t c = 0; c < 2; ++c)
      EXPECT_TRUE(
          std::equal(direct.memory[c].begin(), direct.memory[c].begin() + got.samples * 4, plain.memory[c].begin()));
    done += got.samples;
  }
  EXPECT_GT(timed, 5);
  EXPECT_EQ(missing, 4 * 7);
}

TEST(SoapySource, ALostRadioFailsAndOpensAgainLater) {
  const auto o = options("disconnect_at=0.005,disconnect_for=0.2");
  {
    Opened first(o);
    first.skip(5000);
    for (int i = 0; i < 3; ++i) EXPECT_THROW(first.receive(1000), std::exception);
  }
  EXPECT_THAT(error_of(o), HasSubstr("unplugged"));
  std::this_thread::sleep_for(220ms);
  Opened again(o);
  EXPECT_EQ(again.skip(10'000).event, Event::samples);
}

TEST(SoapySource, AnotherRateIsRefusedUnlessAccepted) {
  EXPECT_THAT(error_of(options("rate_grid=300000")),
              AllOf(HasSubstr("1000000"), HasSubstr("900000"), HasSubstr("accept_rate")));
  EXPECT_EQ(Opened(options("rate_grid=300000", {{"accept_rate", "true"}})).source->info().rate_hz, 900'000);
  EXPECT_EQ(Opened(options("rate_grid=300000", {{"resample", "true"}})).source->info().rate_hz, 900'000);
}

TEST(SoapySource, WhatCannotBeOpenedSaysWhy) {
  EXPECT_THAT(error_of(options("scenario=nonsense")), AllOf(HasSubstr("nonsense"), HasSubstr("loopback")));
  EXPECT_THAT(error_of(options("", {{"args", "driver=unheard_of"}})),
              AllOf(HasSubstr("unheard_of"), HasSubstr("SOAPY_SDR_PLUGIN_PATH"), HasSubstr("driver=iqdsim")));
  EXPECT_THAT(error_of(options("rx=2", {{"channels", "0,2"}})), AllOf(HasSubstr("channel 2"), HasSubstr("has 2")));
  EXPECT_THAT(error_of(options("", {{"antenna", "LNAW"}})), AllOf(HasSubstr("LNAW"), HasSubstr("RX")));
}

TEST(SoapySource, IsRetunedWhileItRuns) {
  Opened o(options("", {{"frequency", "1e9"}, {"gain", "20"}}));
  o.skip(5000);
  o.source->retune(options("", {{"frequency", "1.1e9"}, {"gain", "30"}}));
  EXPECT_EQ(o.source->info().frequency_hz, 1.1e9);
  EXPECT_EQ(o.skip(5000).event, Event::samples);
  EXPECT_THROW(o.source->retune(options("", {{"frequency", "7e9"}, {"gain", "40"}})), SetupError);
  EXPECT_EQ(o.source->info().frequency_hz, 1.1e9) << "out of range, so nothing was changed";
  EXPECT_EQ(o.skip(5000).event, Event::samples);
}

const DeviceKey& key_named(const DeviceKeys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &DeviceKey::key);
  EXPECT_NE(found, keys.end()) << name;
  return *found;
}

TEST(SoapySource, KnowsWhatTheRadioHasGranted) {
  SoapySourceOptions asked = options("gain_step=1", {{"gain", "30.4"}, {"frequency", "433e6"}});
  Opened opened(asked);
  DeviceKeys keys = opened.source->device_keys();
  EXPECT_EQ(std::get<double>(key_named(keys, "gain").value), 30) << "asked for 30.4";
  EXPECT_EQ(key_named(keys, "gain").ranges.at(0).high, 60);
  EXPECT_EQ(key_named(keys, "gain").ranges.at(0).step, 1);
  EXPECT_EQ(std::get<double>(key_named(keys, "frequency").value), 433e6);
  EXPECT_EQ(key_named(keys, "frequency").ranges.at(0).high, 6e9);
  EXPECT_EQ(std::get<double>(key_named(keys, "rate").value), 1e6);
  EXPECT_EQ(std::get<std::string>(key_named(keys, "antenna").value), "RX");
  EXPECT_THAT(key_named(keys, "antenna").choices, ElementsAre("RX"));
  opened.receive(1000);
  assign(asked, {{"gain", "12.6"}});
  opened.source->retune(asked);
  keys = opened.source->device_keys();
  EXPECT_EQ(std::get<double>(key_named(keys, "gain").value), 13);
}

TEST(SoapySource, AKeyThatIsLeftOutReturnsToTheRadiosOwnValue) {
  Opened o(options("", {{"frequency", "1e9"}, {"bandwidth", "2e5"}}));
  const auto value = [&](const char* key) { return std::get<double>(key_named(o.source->device_keys(), key).value); };
  o.skip(1000);
  const double own_gain = value("gain");
  o.source->retune(options("", {{"frequency", "1e9"}, {"gain", "31"}}));
  EXPECT_EQ(value("gain"), 31);
  EXPECT_EQ(value("bandwidth"), 1e6) << "the simulated radio's own bandwidth is its rate";
  o.source->retune(options("", {{"gain", "32"}}));
  EXPECT_EQ(value("frequency"), 100e6);
  o.source->retune(options("", {}));
  EXPECT_EQ(value("gain"), own_gain);
  o.source->retune(options("", {}));
  EXPECT_EQ(value("gain"), own_gain);
}

TEST(SoapySource, SaysWhichRadioItAsksFor) {
  auto o = options("", {{"args", "driver=x"}, {"rate", "20e6"}, {"gains", "LNA=20 dB,VGA=12"}, {"agc", "true"}});
  const RadioRequest radio = o.radio().value();
  EXPECT_EQ(radio.args, "driver=x");
  EXPECT_THAT(radio.gains, ElementsAre(Pair("LNA", "20 dB"), Pair("VGA", "12")));
  EXPECT_TRUE(radio.agc);
  EXPECT_FALSE(radio.resample);
  EXPECT_EQ(radio.wire_bytes, 4);
}

TEST(SoapySource, DescribesItselfWithoutADevice) {
  auto o = options("", {{"args", "driver=unheard_of"}, {"channels", "0,1"}, {"rate", "20e6"}, {"format", "sc16"}});
  StreamInfo info;
  EXPECT_THAT(complaints([&](const Section& s) { info = o.describe(s); }), IsEmpty());
  EXPECT_EQ(info.element, Element::sc16);
  EXPECT_EQ(info.channels, 2);
  EXPECT_EQ(info.rate_hz, 20e6);
  assign(o, {{"channels", "1,0,1"}, {"resample", "true"}, {"accept_rate", "true"}});
  EXPECT_THAT(complaints([&](const Section& s) { o.describe(s); }),
              ElementsAre(HasSubstr("channel 1"), AllOf(HasSubstr("resample"), HasSubstr("accept_rate"))));
}

SoapySinkOptions sink_options(const std::string& args, Values more = {}) {
  load_simulator();
  SoapySinkOptions o;
  more.emplace("args", device(args));
  assign(o, more);
  return o;
}

template <class T> Message message_of(const PortFormat& format, const std::vector<T>& samples) {
  Message m;
  m.format = &format;
  m.extent = static_cast<std::int64_t>(samples.size()) / (format.dims.size() == 2 ? format.dims[0].extent : 1);
  m.payload = std::as_bytes(std::span(samples));
  return m;
}

TEST(SoapySink, WhatIsSentComesBack) {
  const std::string args = "scenario=loopback,delay=10";
  const PortFormat format = stream_format(Element::cf32, 2);
  const auto sink = sink_options(args, {{"channels", "0,2"}}).open(format);
  std::vector<cf32> sent(2 * 40'000);  // more than the radio takes at once
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = {static_cast<float>(i), 1};
  ASSERT_TRUE(sink->send(message_of(format, sent)));
  ASSERT_TRUE(sink->send(message_of(format, sent)));
  Opened heard(options(args, {{"channels", "2,0,1"}}), 80'010);
  for (std::int64_t done = 0; done < 80'010;) {
    std::vector<std::byte*> into;
    for (std::byte* p : heard.into) into.push_back(p + done * 8);
    const Received got = heard.source->receive(into, 80'010 - done);
    ASSERT_EQ(got.event, Event::samples);
    done += got.samples;
  }
  for (std::size_t n = 0; n < 80'010; ++n) {
    const std::size_t p = (n - 10) % 40'000;
    ASSERT_EQ(heard.channel(1)[n], n < 10 ? cf32{} : sent[p]) << n;
    ASSERT_EQ(heard.channel(0)[n], n < 10 ? cf32{} : sent[40'000 + p]) << n;
    ASSERT_EQ(heard.channel(2)[n], cf32{});
  }
  sink->finish();
}

TEST(SoapySink, TimedSamplesAreSentAtTheirTime) {
  const std::string args = "scenario=loopback,epoch=1700000000";
  const PortFormat format = stream_format(Element::sc16);
  const auto sink = sink_options(args, {{"timed", "true"}, {"delay", "0.002"}}).open(format);
  Opened heard(options(args, {{"format", "sc16"}}));
  Message m;
  const std::vector<sc16> sent(100, sc16{1000, -2000});
  m = message_of(format, sent);
  m.time_ns = kEpoch + 1'000'000;
  ASSERT_TRUE(sink->send(m));
  m.time_ns = kEpoch - 5'000'000;
  EXPECT_FALSE(sink->send(m)) << "too late";
  EXPECT_EQ(sink->counts().late, 1u);
  ASSERT_EQ(heard.receive(4000).samples, 4000);
  const auto* x = reinterpret_cast<const sc16*>(heard.memory[0].data());
  for (int n = 0; n < 4000; ++n) ASSERT_EQ(x[n], n >= 3000 && n < 3100 ? sent[0] : sc16{}) << n;
}

TEST(SoapySink, AFullRadioIsWaitedForAndUnderflowsAreCounted) {
  const PortFormat format = stream_format(Element::cf32);
  SoapySinkOptions o = sink_options("");
  assign(o, {{"args", "driver=iqdsim,serial=paced"}});
  const auto sink = o.open(format);
  const std::vector<cf32> sent(50'000);
  const std::int64_t start = steady_ns();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(sink->send(message_of(format, sent)));
  EXPECT_GT(steady_ns() - start, 90'000'000) << "250 ms of samples; the radio holds 100";
  EXPECT_EQ(sink->counts().underflows, 0u);
  std::this_thread::sleep_for(200ms);
  ASSERT_TRUE(sink->send(message_of(format, sent)));
  EXPECT_EQ(sink->counts().underflows, 1u);
  const std::int64_t end = steady_ns();
  sink->finish();
  EXPECT_GT(steady_ns() - end, 10'000'000) << "until everything is sent";
}

TEST(SoapySink, InterruptedItGivesUp) {
  const PortFormat format = stream_format(Element::cf32);
  SoapySinkOptions o = sink_options("");
  assign(o, {{"args", "driver=iqdsim,serial=interrupted"}});
  const auto sink = o.open(format);
  std::thread interrupter([&] {
    std::this_thread::sleep_for(100ms);
    sink->interrupt();
  });
  EXPECT_FALSE(sink->send(message_of(format, std::vector<cf32>(10'000'000))));
  interrupter.join();
}

TEST(SoapySink, APortThatDoesNotFitIsRefused) {
  const auto o = sink_options("", {{"channels", "0,1"}});
  const auto check = [&](const PortFormat& f) { return complaints([&](const Section& s) { o.check(f, s); }); };
  EXPECT_THAT(check(stream_format(Element::sc16, 2)), IsEmpty());
  EXPECT_THAT(check(stream_format(Element::cf32, 1, 4096, "filter.out")),
              ElementsAre(AllOf(HasSubstr("filter.out"), HasSubstr("1 channel"))));
  EXPECT_THAT(check(stream_format(Element::f32, 2)), ElementsAre(AllOf(HasSubstr("f32"), HasSubstr("convert"))));
  PortFormat spectrum = stream_format(Element::cf32, 2);
  spectrum.dims[0].name = "frame";
  EXPECT_THAT(check(spectrum), ElementsAre(HasSubstr("[frame 2][n 4096]")));
  const auto other = sink_options("", {{"channels", "0,1"}, {"rate", "2e6"}});
  EXPECT_THAT(complaints([&](const Section& s) { other.check(stream_format(Element::sc16, 2), s); }),
              ElementsAre(AllOf(HasSubstr("rate"), HasSubstr("1000000"), HasSubstr("2000000"))));
}

TEST(SoapySink, WhatIsNotPermittedIsRefusedBeforeItIsOpened) {
  const Values permitted{
      {"frequency", "869e6"}, {"gain", "20"}, {"permitted_bands", "868e6,870e6"}, {"permitted_gains", "20"}};
  const auto wrong = [](const SoapySinkOptions& o) {
    return complaints([&](const Section& s) { o.check(stream_format(Element::sc16), s); });
  };
  auto o = sink_options("", permitted);
  EXPECT_THAT(wrong(o), IsEmpty());
  EXPECT_NE(o.open(stream_format(Element::sc16)), nullptr);
  assign(o, {{"gain", "30"}});
  EXPECT_THAT(wrong(o), ElementsAre(HasSubstr("gain: of 30 dB")));
  assign(o, {{"frequency", "868.4e6"}});
  EXPECT_THAT(wrong(o), ElementsAre(AllOf(HasSubstr("frequency: needs 867.9 to 868.9 MHz"))));
  EXPECT_THROW(o.open(stream_format(Element::sc16)), SetupError) << "and it does not transmit";
}

TEST(SoapyProbe, ListsTheSimulatedRadio) {
  load_simulator();
  const auto found = soapy_driver().probe("");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].label, "iqd simulated radio");
  EXPECT_THAT(found[0].facts, Contains(Pair("rx_channels", "4")));
  EXPECT_THAT(found[0].facts, Contains(Pair("tx_antennas", "TX")));
  EXPECT_THAT(found[0].facts, Contains(Pair("rx_rates", "1000-500000000")));
  EXPECT_THAT(found[0].facts, Contains(Pair("product", "iqdsim")));
  EXPECT_THAT(found[0].facts, Contains(Pair("scenario", "tone")));  // from its hardware info
  EXPECT_THAT(found[0].facts, Contains(Pair("rx_frequencies", "0-6000000000")));
  EXPECT_THAT(found[0].facts, Contains(Pair("tx_gains", "0-60")));
  EXPECT_THAT(found[0].facts, Contains(Pair("rx_bandwidths", "1000-500000000")));
}

}  // namespace
}  // namespace iqd::radio::soapy
