// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The telemetry receiver on packets through realistic channels: each stage on CUDA against the CPU's on the same input,
// within single precision, and the whole receiver.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "signal/channels/ray_channel.hpp"
#include "signal/formats/soqpsk.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr double kRateHz = 20.625e6;
constexpr std::int64_t kPackets = 9;
constexpr std::int64_t kBefore = 777;  // noise before the first packet

/// A received signal, and where packets start in it.
struct TelemetryHeard {
  std::vector<cf32> samples;
  std::vector<std::int64_t> starts;
};

/// What a receiver takes whose clock is slower by this error, of samples that the transmitter makes four times as often.
std::vector<std::complex<double>> sampled(const std::vector<std::complex<double>>& sent, double error) {
  std::vector<std::complex<double>> x;
  for (double at = 0; at + 1 < static_cast<double>(sent.size()); at += 4 * (1 + error)) {
    const auto n = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(n);
    x.push_back((1 - part) * sent[n] + part * sent[n + 1]);
  }
  return x;
}

TelemetryHeard packets_through(RayChannel channel, double eb_n0_db, double offset, float gain, double clock = 0) {
  const PacketFormat format;
  std::mt19937 generator(7);
  std::vector<std::uint8_t> bits;
  const std::vector<std::uint8_t> pilot = format.pilot();
  TelemetryHeard heard;
  for (std::int64_t p = 0; p < kPackets; ++p) {
    heard.starts.push_back(kBefore + std::llround(static_cast<double>(p * format.samples()) / (1 + clock)));
    bits.insert(bits.end(), pilot.begin(), pilot.end());
    for (std::int64_t k = 0; k < format.payload_bits; ++k) bits.push_back(generator() & 1);
  }
  const std::vector<std::complex<double>> sent =
      clock == 0 ? soqpsk::modulate(bits, format.samples_per_bit)
                 : sampled(soqpsk::modulate(bits, 4 * format.samples_per_bit), clock);
  const ChannelTaps h = taps_of(rays_of(channel), kRateHz, format.samples_per_bit);
  std::normal_distribution<double> noise(0, std::sqrt(noise_variance(eb_n0_db, format.samples_per_bit) / 2));
  const std::int64_t end = kBefore + std::ssize(sent) + 14'000;
  for (std::int64_t n = 0; n < end; ++n) {
    std::complex<double> y(noise(generator), noise(generator));
    for (std::int64_t i = 0; i < std::ssize(h.taps); ++i) {
      const std::int64_t at = n - kBefore + h.before - i;
      if (at >= 0 && at < std::ssize(sent))
        y += h.taps[static_cast<std::size_t>(i)] * sent[static_cast<std::size_t>(at)];
    }
    y *= std::polar(static_cast<double>(gain), offset * static_cast<double>(n) + 1);
    heard.samples.emplace_back(static_cast<float>(y.real()), static_cast<float>(y.imag()));
  }
  return heard;
}

constexpr const char* kKinds = "{kinds: [zf, mmse, cma, fde1, fde2]}";

/// All stages' outputs. Each stage reads from `feed` if given, else the outputs of the stages before it.
std::map<std::string, Ports> receive(const TelemetryHeard& heard, const std::string& backend, std::int64_t block,
                                     const std::map<std::string, Ports>* feed = nullptr,
                                     const std::string& estimator = "{}") {
  std::map<std::string, Ports> all;
  const auto from = [&](const char* stage, const char* port) {
    return input_of((feed ? *feed : all).at(stage).at(port));
  };
  all["search"] = run("preamble_search", "{}", {input_of(heard.samples, kRateHz)}, backend, block);
  all["estimator"] = run("packet_estimator", estimator, {from("search", "windows")}, backend);
  all["equalizer"] =
      run("equalizer", kKinds, {from("estimator", "windows"), from("estimator", "channel"), from("estimator", "noise")},
          backend);
  all["detector"] = run("soqpsk_detector", "{}", {from("equalizer", "symbols")}, backend);
  return all;
}

struct TelemetryCase {
  RayChannel channel;
  double eb_n0_db;
  double offset;
  float gain;
};

void PrintTo(const TelemetryCase& c, std::ostream* out) {
  *out << enum_names(c.channel)[static_cast<std::size_t>(c.channel)] << ", Eb/N0 " << c.eb_n0_db << " dB, offset "
       << c.offset << ", gain " << c.gain;
}

class TelemetryOnCuda : public ::testing::TestWithParam<TelemetryCase> {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO RECEIVER WAS TESTED ON CUDA: " << why;
  }
  TelemetryHeard heard() const {
    return packets_through(GetParam().channel, GetParam().eb_n0_db, GetParam().offset, GetParam().gain);
  }
};

TEST_P(TelemetryOnCuda, EachStageAgreesWithTheCpu) {
  const TelemetryHeard air = heard();
  const auto cpu = receive(air, "cpu", 0), cuda = receive(air, "cuda", 0, &cpu);
  EXPECT_EQ(values<std::int64_t>(cuda.at("search").at("start")), values<std::int64_t>(cpu.at("search").at("start")));
  struct Limit {
    const char *stage, *port;
    double relative;
  };
  for (const Limit& l : {Limit{"search", "start", 0},
                         {"search", "windows", 0},
                         {"search", "metric", 1e-5},
                         {"search", "correlation", 1e-5},
                         {"search", "events", 0},
                         {"estimator", "windows", 1e-5},
                         {"estimator", "channel", 1e-5},
                         {"estimator", "noise", 1e-5},
                         {"estimator", "offset", 1e-5},
                         {"equalizer", "taps", 5e-3},
                         {"equalizer", "symbols", 5e-3},
                         {"detector", "soft", 0},
                         {"detector", "bits", 0},
                         {"detector", "llr", 0}})
    EXPECT_LE(distance(cpu.at(l.stage).at(l.port), cuda.at(l.stage).at(l.port)), l.relative)
        << l.stage << '.' << l.port;
}

/// What an equalizer with `track` outputs for the estimates of a received signal. One packet has a NaN, one is silent, and
/// one has no channel.
Ports tracked(const TelemetryHeard& heard, const std::string& keys, const std::string& backend) {
  const Ports search = run("preamble_search", "{}", {input_of(heard.samples, kRateHz)}, "cpu");
  const Ports estimates = run("packet_estimator", "{}", {input_of(search.at("windows"))}, "cpu");
  const std::int64_t window = PacketFormat().window();
  auto windows = values<cf32>(estimates.at("windows"));
  auto channels = values<cf32>(estimates.at("channel"));
  const std::int64_t taps = std::ssize(channels) / kPackets;
  windows[static_cast<std::size_t>(window + 5000)] = {NAN, 0};
  std::fill_n(windows.begin() + 2 * window, window, cf32());
  std::fill_n(channels.begin() + 3 * taps, taps, cf32());
  return run("equalizer", keys,
             {items(windows, Element::cf32, "packet", {{"sample", window}}),
              items(channels, Element::cf32, "packet", {{"tap", taps}}), input_of(estimates.at("noise"))},
             backend);
}

/// A decision may differ where it is uncertain on both; it is one of hundreds, or thousands, for a channel. The channel
/// itself, and with it zf and all taps, is uncertain where the signal has no power.
TEST_P(TelemetryOnCuda, TracksAsTheCpuDoes) {
  const TelemetryHeard air = heard();
  for (const char* keys : {"{kinds: [mmse, cma, fde1, fde2], track: refine}",
                           "{kinds: [fde2, fde1], track: on, detection_filter: [off, on]}"}) {
    const Ports cpu = tracked(air, keys, "cpu"), cuda = tracked(air, keys, "cuda");
    EXPECT_LE(distance(cpu.at("symbols"), cuda.at("symbols")), 1e-2) << keys;
  }
}

/// Bits may differ where the decision is uncertain on both.
TEST_P(TelemetryOnCuda, TheWholeReceiverAgreesInBlocks) {
  const TelemetryHeard air = heard();
  const auto cpu = receive(air, "cpu", 0), cuda = receive(air, "cuda", 30'011);
  EXPECT_EQ(values<std::int64_t>(cuda.at("search").at("start")), values<std::int64_t>(cpu.at("search").at("start")));
  const auto soft = values<float>(cpu.at("detector").at("soft")), other = values<float>(cuda.at("detector").at("soft"));
  ASSERT_EQ(soft.size(), other.size());
  double power = 0;
  std::size_t turned = 0;
  for (std::size_t i = 0; i < soft.size(); ++i) {
    power += std::pow(soft[i] - other[i], 2);
    turned += (soft[i] >= 0) != (other[i] >= 0) && std::fabs(soft[i]) > 5e-3;
  }
  EXPECT_LT(std::sqrt(power / static_cast<double>(soft.size())), 1e-3);
  EXPECT_EQ(turned, 0u);
}

TEST_P(TelemetryOnCuda, ClocksAreCorrectedAsOnTheCpu) {
  const TelemetryCase& c = GetParam();
  const TelemetryHeard air = packets_through(c.channel, c.eb_n0_db, c.offset, c.gain, 70e-6);
  const Ports search = run("preamble_search", "{}", {input_of(air.samples, kRateHz)}, "cpu");
  for (const char* const keys : {"{clock: packet, average: packet}", "{clock: block}"}) {
    const Ports cpu = run("packet_estimator", keys, {input_of(search.at("windows"))}, "cpu");
    const Ports cuda = run("packet_estimator", keys, {input_of(search.at("windows"))}, "cuda");
    for (const char* const port : {"windows", "channel", "noise", "offset", "clock_quality"})
      EXPECT_LE(distance(cpu.at(port), cuda.at(port)), 1e-5) << keys << ' ' << port;
    const auto clock = values<float>(cpu.at("clock")), other = values<float>(cuda.at("clock"));
    ASSERT_EQ(clock.size(), other.size());
    for (std::size_t p = 0; p < clock.size(); ++p) EXPECT_NEAR(clock[p], other[p], 1e-3) << keys;
    EXPECT_NEAR(clock.at(0), 70, 4 * 5.5) << "four standard deviations on CH3";
  }
}

/// With the pilot in each payload, too.
TelemetryHeard with_copies(TelemetryHeard heard) {
  for (const std::int64_t start : heard.starts)
    std::copy_n(heard.samples.begin() + start, 384, heard.samples.begin() + start + 5000);
  return heard;
}
/// With noise that covers the preamble of the sixth packet.
TelemetryHeard with_noise(TelemetryHeard heard) {
  std::mt19937 generator(3);
  std::normal_distribution<float> loud(0, 10);
  for (std::int64_t n = heard.starts[5]; n < heard.starts[5] + 384; ++n)
    heard.samples[static_cast<std::size_t>(n)] += cf32(loud(generator), loud(generator));
  return heard;
}

constexpr const char* kSearchKeys[] = {"{}", "{chain: carry}", "{flywheel: on}", "{chain: carry, flywheel: on}"};

TEST_P(TelemetryOnCuda, StartsAreChosenAsOnTheCpu) {
  for (const TelemetryHeard& air : {with_copies(heard()), with_noise(heard()), with_copies(with_noise(heard()))})
    for (const char* const keys : kSearchKeys)
      for (const std::int64_t block : {0, 30'011}) {
        const Ports cpu = run("preamble_search", keys, {input_of(air.samples, kRateHz)}, "cpu", block);
        const Ports cuda = run("preamble_search", keys, {input_of(air.samples, kRateHz)}, "cuda", block);
        for (const char* const port : {"metric", "correlation"})
          EXPECT_LE(distance(cpu.at(port), cuda.at(port)), 1e-5) << keys << ' ' << port;
        for (const char* const port : {"start", "events", "flywheel", "lock", "windows"})
          EXPECT_EQ(distance(cpu.at(port), cuda.at(port)), 0) << keys << ' ' << port << " in blocks of " << block;
      }
}

INSTANTIATE_TEST_SUITE_P(Channels, TelemetryOnCuda,
                         ::testing::Values(TelemetryCase{RayChannel::awgn, 12, 0, 1},
                                           TelemetryCase{RayChannel::ch1, 14, 0.02F, 0.1F},
                                           TelemetryCase{RayChannel::ch2, 16, -0.05, 10},
                                           TelemetryCase{RayChannel::ch3, 14, 0.09, 0.3F},
                                           TelemetryCase{RayChannel::ch4, 14, -0.09, 3}),
                         [](const auto& c) { return std::string(enum_names(c.param.channel)[c.index]); });

/// The same channels on the CPU: starts are exact, and nearly all bits are correct.
TEST(Telemetry, IsReceivedOnTheCpu) {
  const TelemetryHeard air = packets_through(RayChannel::awgn, 14, 0.03, 0.3F);
  const auto whole = receive(air, "cpu", 0), blocks = receive(air, "cpu", 20'003);
  EXPECT_EQ(values<std::int64_t>(whole.at("search").at("start")), air.starts);
  EXPECT_EQ(values<std::int64_t>(blocks.at("search").at("start")), air.starts);
  EXPECT_EQ(distance(whole.at("search").at("windows"), blocks.at("search").at("windows")), 0);
  EXPECT_EQ(distance(whole.at("detector").at("bits"), blocks.at("detector").at("bits")), 0);
}

TEST(Telemetry, IsTrackedOnTheCpu) {
  const TelemetryHeard air = packets_through(RayChannel::ch3, 20, 0.03, 0.3F);
  const auto symbols = values<cf32>(tracked(air, "{kinds: [fde1], track: on}", "cpu").at("symbols"));
  const std::int64_t bits = PacketFormat().bits();
  ASSERT_EQ(std::ssize(symbols), kPackets * bits);
  for (std::int64_t i = 0; i < std::ssize(symbols); ++i) {
    const double power = std::norm(symbols[static_cast<std::size_t>(i)]);
    const std::int64_t packet = i / bits;
    if (packet == 1) {
      EXPECT_TRUE(std::isnan(power));
    } else if (packet == 2 || packet == 3) {
      EXPECT_EQ(power, 0);
    } else {
      EXPECT_TRUE(power > 0 && power < 10) << power;
    }
  }
}

TEST(Telemetry, StartsAreChosenInAnyBlocks) {
  const TelemetryHeard air = packets_through(RayChannel::awgn, 14, 0.03, 0.3F);
  const auto starts = [](const TelemetryHeard& heard, const char* keys, std::int64_t block) {
    return values<std::int64_t>(
        run("preamble_search", keys, {input_of(heard.samples, kRateHz)}, "cpu", block).at("start"));
  };
  std::vector<std::int64_t> found = air.starts;
  found.erase(found.begin() + 5);
  std::vector<std::int64_t> put = air.starts;
  put.push_back(put.back() + PacketFormat{}.samples());  // when the transmitter has stopped, one more fits
  for (const std::int64_t block : {0, 30'011, 12'672}) {
    // A block in the middle of a stream does not show whether a packet or its copy came first.
    EXPECT_EQ(starts(with_copies(air), block > 0 ? "{chain: carry}" : "{}", block), air.starts) << block;
    for (const char* const keys : {"{}", "{chain: carry}"})
      EXPECT_EQ(starts(with_noise(air), keys, block), found) << keys << " in blocks of " << block;
    for (const char* const keys : {"{flywheel: on}", "{chain: carry, flywheel: on}"})
      EXPECT_EQ(starts(with_noise(air), keys, block), put) << keys << " in blocks of " << block;
  }
}

/// Bits that are wrong, of those that the generator of packets_through makes.
std::size_t wrong_bits(const std::vector<std::uint8_t>& bits) {
  std::mt19937 generator(7);
  std::size_t wrong = 0;
  for (const std::uint8_t bit : bits) wrong += bit != (generator() & 1);
  return wrong;
}

TEST(Telemetry, AClockErrorIsRemovedOnTheCpu) {
  const TelemetryHeard air = packets_through(RayChannel::awgn, 12, 0.03, 0.3F, 100e-6);
  const auto without = receive(air, "cpu", 0), with = receive(air, "cpu", 0, nullptr, "{clock: packet}");
  const auto starts = values<std::int64_t>(with.at("search").at("start"));
  ASSERT_EQ(starts.size(), air.starts.size());
  for (std::size_t p = 0; p < starts.size(); ++p) EXPECT_LE(std::abs(starts[p] - air.starts[p]), 1);
  const auto errors = [](const std::map<std::string, Ports>& all) {
    const auto bits = values<std::uint8_t>(all.at("detector").at("bits"));
    EXPECT_EQ(std::ssize(bits), kPackets * 5 * 6144);
    std::vector<std::uint8_t> fde1;  // the fourth kind of each packet
    for (std::int64_t p = 0; p < kPackets; ++p)
      fde1.insert(fde1.end(), bits.begin() + (5 * p + 3) * 6144, bits.begin() + (5 * p + 4) * 6144);
    return wrong_bits(fde1);
  };
  EXPECT_GT(errors(without), 50U);
  EXPECT_LT(errors(with), 10U);
}

}  // namespace
}  // namespace iqd::conformance
