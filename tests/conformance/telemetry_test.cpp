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

TelemetryHeard packets_through(RayChannel channel, double eb_n0_db, double offset, float gain) {
  const PacketFormat format;
  std::mt19937 generator(7);
  std::vector<std::uint8_t> bits;
  const std::vector<std::uint8_t> pilot = format.pilot();
  TelemetryHeard heard;
  for (std::int64_t p = 0; p < kPackets; ++p) {
    heard.starts.push_back(kBefore + p * format.samples());
    bits.insert(bits.end(), pilot.begin(), pilot.end());
    for (std::int64_t k = 0; k < format.payload_bits; ++k) bits.push_back(generator() & 1);
  }
  const std::vector<std::complex<double>> sent = soqpsk::modulate(bits, format.samples_per_bit);
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
                                     const std::map<std::string, Ports>* feed = nullptr) {
  std::map<std::string, Ports> all;
  const auto from = [&](const char* stage, const char* port) {
    return input_of((feed ? *feed : all).at(stage).at(port));
  };
  all["search"] = run("preamble_search", "{}", {input_of(heard.samples, kRateHz)}, backend, block);
  all["estimator"] = run("packet_estimator", "{}", {from("search", "windows")}, backend);
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

}  // namespace
}  // namespace iqd::conformance
