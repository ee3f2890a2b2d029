// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "config/differences.hpp"
#include "pipeline/stage_runner.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::equalizer {
namespace {

using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using Values = std::vector<cf32>;

constexpr double kNoise = 0.04;  // Eb/N0 of 17 dB
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Short packets, so that the sums of the model are short.
PacketFormat short_packets(std::int64_t samples_per_bit = 2) {
  PacketFormat format;
  format.payload_bits = 256;
  format.samples_per_bit = samples_per_bit;
  return format;
}
std::string keys_of(const PacketFormat& format, const std::string& others) {
  return "{payload_bits: " + std::to_string(format.payload_bits) +
         ", samples_per_bit: " + std::to_string(format.samples_per_bit) + ", " + others + "}";
}

std::vector<Ray> awgn() {
  return {{0, {0.8, 0.6}}};
}
std::vector<Ray> three_rays() {
  return {{0, 1}, {1, std::polar(0.84, 2.6)}, {3, {0, 0.1}}};
}
std::vector<Ray> long_echoes() {
  return {{0, 1}, {6, std::polar(0.7, 1.0)}, {14, std::polar(0.2, -2.1)}};
}

/// Inputs of packets as the stage receives them.
struct Inputs {
  Values windows;
  Values channels;
  std::vector<float> noise;

  explicit Inputs(const std::vector<Received>& packets) {
    for (const Received& p : packets) {
      windows.insert(windows.end(), p.window.begin(), p.window.end());
      channels.insert(channels.end(), p.channel.begin(), p.channel.end());
      noise.push_back(static_cast<float>(p.noise));
    }
  }
};
struct Outputs {
  Values symbols;
  Values taps;
};

PortShape packets_of(Element element, std::int64_t count, std::vector<Dim> item) {
  PortShape shape;
  shape.element = element;
  shape.axis = Axis::counted;
  shape.axis_name = "packet";
  shape.most = count;
  shape.item = std::move(item);
  return shape;
}

template <class T> std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
Values values_of(const StageOutput& output) {
  const std::vector<std::byte> bytes = output.joined();
  Values values(bytes.size() / sizeof(cf32));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Outputs run(const PacketFormat& format, const std::string& keys, const Inputs& in) {
  const std::int64_t n = std::ssize(in.noise);
  Problems problems;
  static const StageEntry stage = entry();
  StageRunner runner(stage, keys_of(format, keys),
                     {{packets_of(Element::cf32, n, {{"sample", format.window()}}), n, bytes_of(in.windows)},
                      {packets_of(Element::cf32, n, {{"tap", kChannelTaps}}), n, bytes_of(in.channels)},
                      {packets_of(Element::f32, n, {}), n, bytes_of(in.noise)}},
                     0, "cpu", problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  if (!problems.empty()) return {};
  const auto out = runner.run();
  return {values_of(out[0]), values_of(out[1])};
}
Outputs run(const PacketFormat& format, const std::string& keys, const Received& packet) {
  return run(format, keys, Inputs({packet}));
}

Values part(const Values& values, std::int64_t index, std::int64_t size) {
  return {values.begin() + index * size, values.begin() + (index + 1) * size};
}

/// The rms distance of two vectors, relative to the second.
double distance(const Values& got, const Signal& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double left = 0;
  double all = 0;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    left += std::norm(Complex(got[i]) - wanted[i]);
    all += std::norm(wanted[i]);
  }
  return std::sqrt(left / all);
}

// How far float32 may be from the model: the limits that the receiver's definition sets.
constexpr double kMmseLimit = 1e-4;
constexpr double kZfLimit = 5e-3;
constexpr double kFdeLimit = 1e-5;

class Channels : public ::testing::TestWithParam<std::vector<Ray>> {};
INSTANTIATE_TEST_SUITE_P(Equalizer, Channels, ::testing::Values(awgn(), three_rays(), long_echoes()));

TEST_P(Channels, TapsSolveTheirEquations) {
  const PacketFormat format = short_packets();
  const Received packet = receive(format, GetParam(), kNoise, 1);
  const Model model(format, packet);
  const Outputs y = run(format, "kinds: [mmse, zf]", packet);
  const Signal mmse = model.solve(packet.noise);
  const Signal zf = model.solve(1e-6 * model.energy());
  EXPECT_LT(distance(part(y.taps, 0, kTaps), mmse), kMmseLimit);
  EXPECT_LT(distance(part(y.taps, 1, kTaps), zf), kZfLimit);
  EXPECT_LT(distance(part(y.symbols, 0, format.bits()), model.symbols_of_taps(mmse, true)), kMmseLimit);
  EXPECT_LT(distance(part(y.symbols, 1, format.bits()), model.symbols_of_taps(zf, true)), kZfLimit);
}

TEST_P(Channels, CmaDescends) {
  PacketFormat format;
  format.payload_bits = 1000;  // so that there are two blocks
  const Received packet = receive(format, GetParam(), kNoise, 2);
  const Model model(format, packet);
  const Outputs y = run(format, "kinds: [cma], cma: {step: 0.03, iterations: 5}", packet);
  const Signal taps = model.descend(model.solve(packet.noise), 0.03, 5);
  EXPECT_LT(distance(y.taps, taps), kMmseLimit);
  EXPECT_LT(distance(y.symbols, model.symbols_of_taps(taps, true)), kMmseLimit);
}

TEST_P(Channels, BinsAreDivided) {
  const PacketFormat format = short_packets();
  const Received packet = receive(format, GetParam(), kNoise, 3);
  const Model model(format, packet);
  const Outputs y = run(format, "kinds: [fde2, fde1]", packet);
  const std::int64_t size = transform_size(format);
  const auto d = soqpsk::detection_response(size, 2);
  const std::vector<double> flat(at(size), 1.0);
  EXPECT_LT(distance(part(y.symbols, 0, format.bits()), model.symbols_of_bins(soqpsk::power_spectrum(size, 2), d)),
            kFdeLimit);
  EXPECT_LT(distance(part(y.symbols, 1, format.bits()), model.symbols_of_bins(flat, d)), kFdeLimit);
  EXPECT_TRUE(y.taps.empty());
}

TEST(Equalizer, WholePackets) {
  const PacketFormat format;
  const Received packet = receive(format, three_rays(), kNoise, 4);
  const Model model(format, packet);
  const Outputs y = run(format, "kinds: [mmse]", packet);
  EXPECT_LT(distance(y.symbols, model.symbols_of_taps(model.solve(packet.noise), true)), kMmseLimit);
}

TEST(Equalizer, WindowsLongerThanTheUsualTransform) {
  PacketFormat format;
  format.payload_bits = 8000;
  ASSERT_EQ(transform_size(format), 32768);
  const Received packet = receive(format, awgn(), kNoise, 5);
  const Model model(format, packet);
  const Outputs y = run(format, "kinds: [mmse]", packet);
  EXPECT_LT(distance(y.symbols, model.symbols_of_taps(model.solve(packet.noise), true)), kMmseLimit);
}

TEST(Equalizer, MoreSamplesABit) {
  for (const std::int64_t s : {4, 8}) {
    const PacketFormat format = short_packets(s);
    const Received packet = receive(format, three_rays(), kNoise, 6);
    const Model model(format, packet);
    const Outputs y = run(format, "kinds: [mmse, fde1], detection_filter: [off, on]", packet);
    const std::int64_t size = transform_size(format);
    const auto d = soqpsk::detection_response(size, s);
    EXPECT_LT(distance(part(y.symbols, 0, format.bits()), model.symbols_of_taps(model.solve(packet.noise), false)),
              kMmseLimit);
    EXPECT_LT(distance(part(y.symbols, 1, format.bits()), model.symbols_of_bins(std::vector<double>(at(size), 1.0), d)),
              kFdeLimit);
  }
}

TEST(Equalizer, TheDetectionFilterIsForAllOrForEach) {
  const PacketFormat format = short_packets();
  const Received packet = receive(format, long_echoes(), kNoise, 7);
  const Model model(format, packet);
  const Signal taps = model.solve(packet.noise);
  const Outputs off = run(format, "kinds: [fde2, mmse], detection_filter: off", packet);
  EXPECT_LT(distance(part(off.symbols, 1, format.bits()), model.symbols_of_taps(taps, false)), kMmseLimit);
  const Outputs on = run(format, "kinds: [fde2, mmse]", packet);
  const Outputs mixed = run(format, "kinds: [fde2, mmse], detection_filter: [off, on]", packet);
  EXPECT_TRUE(same_bits(part(mixed.symbols, 0, format.bits()), part(off.symbols, 0, format.bits())));
  EXPECT_TRUE(same_bits(part(mixed.symbols, 1, format.bits()), part(on.symbols, 1, format.bits())));
  EXPECT_TRUE(same_bits(mixed.taps, on.taps));
  EXPECT_FALSE(same_bits(off.symbols, on.symbols));
}

TEST(Equalizer, AKindIsTheSameAloneAndAmongOthers) {
  const PacketFormat format = short_packets();
  const Received packet = receive(format, three_rays(), kNoise, 8);
  const Outputs all = run(format, "kinds: [fde2, cma, fde1, zf, mmse]", packet);
  const std::vector<std::string> kinds{"fde2", "cma", "fde1", "zf", "mmse"};
  std::int64_t linear_kinds = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Outputs alone = run(format, "kinds: [" + kinds[i] + "]", packet);
    EXPECT_TRUE(same_bits(alone.symbols, part(all.symbols, static_cast<std::int64_t>(i), format.bits()))) << kinds[i];
    if (alone.taps.empty()) continue;
    EXPECT_TRUE(same_bits(alone.taps, part(all.taps, linear_kinds++, kTaps))) << kinds[i];
  }
  EXPECT_EQ(linear_kinds, 3);
}

TEST(Equalizer, GainChangesNothingButTheTaps) {
  const PacketFormat format = short_packets();
  const Received packet = receive(format, three_rays(), kNoise, 9);
  const std::string keys = "kinds: [zf, mmse, cma, fde1, fde2]";
  const Outputs y = run(format, keys, packet);
  for (const float gain : {0x1p-60f, 0x1p+55f}) {
    Inputs in({packet});
    for (cf32& v : in.windows) v *= gain;
    for (cf32& v : in.channels) v *= gain;
    in.noise[0] *= gain * gain;
    Outputs scaled = run(format, keys, in);
    for (cf32& v : scaled.taps) v *= gain;
    EXPECT_TRUE(same_bits(scaled.symbols, y.symbols)) << gain;
    EXPECT_TRUE(same_bits(scaled.taps, y.taps)) << gain;
  }
}

/// The remaining distance from the circle: the mean of (|y|^2 - 1)^2.
double dispersion(const Values& y) {
  double sum = 0;
  for (const cf32 v : y) sum += std::pow(std::norm(Complex(v)) - 1, 2) / static_cast<double>(y.size());
  return sum;
}

TEST(Equalizer, CmaBringsSamplesToTheCircle) {
  const PacketFormat format;
  const Received packet = receive(format, long_echoes(), kNoise, 10);
  const auto after = [&](int iterations) {
    const std::string keys = "kinds: [cma], detection_filter: off, cma: {iterations: ";
    return dispersion(run(format, keys + std::to_string(iterations) + "}", packet).symbols);
  };
  double before = after(0);
  for (const int iterations : {3, 12, 40}) {
    const double now = after(iterations);
    EXPECT_LT(now, before) << iterations;
    before = now;
  }
}

TEST(Equalizer, ACmaThatDivergesIsGivenUp) {
  const PacketFormat format = short_packets();
  Received packet = receive(format, three_rays(), kNoise, 11);
  for (Complex& v : packet.window) v *= 100;  // far outside the circle: each step overshoots
  const Outputs y = run(format, "kinds: [mmse, cma]", packet);
  EXPECT_TRUE(same_bits(part(y.symbols, 1, format.bits()), part(y.symbols, 0, format.bits())));
  EXPECT_TRUE(same_bits(part(y.taps, 1, kTaps), part(y.taps, 0, kTaps)));
}

TEST(Equalizer, ACmaOfNoIterationsIsMmse) {
  const PacketFormat format = short_packets();
  const Outputs y = run(format, "kinds: [cma, mmse], cma: {iterations: 0}", receive(format, three_rays(), kNoise, 16));
  EXPECT_TRUE(same_bits(part(y.symbols, 0, format.bits()), part(y.symbols, 1, format.bits())));
  EXPECT_TRUE(same_bits(part(y.taps, 0, kTaps), part(y.taps, 1, kTaps)));
}

bool all_finite(const Values& values) {
  return std::all_of(values.begin(), values.end(),
                     [](cf32 v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); });
}
bool all_nan(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](cf32 v) { return std::isnan(v.real()) && std::isnan(v.imag()); });
}

TEST(Equalizer, ASpectralZeroStaysFinite) {
  const PacketFormat format = short_packets();
  Received packet = receive(format, awgn(), kNoise, 12);
  packet.channel = Signal(kChannelTaps);
  packet.channel[12] = 1;
  packet.channel[13] = -1;
  for (const double noise : {0.0, -1.0, kNoise, 1e38}) {
    packet.noise = noise;
    const Outputs y = run(format, "kinds: [zf, mmse, cma, fde1, fde2], zf_load: 0", packet);
    EXPECT_TRUE(all_finite(y.symbols)) << noise;
    EXPECT_TRUE(all_finite(y.taps)) << noise;
  }
}

TEST(Equalizer, NegativeNoiseIsNone) {
  const PacketFormat format = short_packets();
  Received packet = receive(format, three_rays(), kNoise, 13);
  packet.noise = 0;
  const Outputs none = run(format, "kinds: [mmse, fde1]", packet);
  packet.noise = -1;
  EXPECT_TRUE(same_bits(run(format, "kinds: [mmse, fde1]", packet).symbols, none.symbols));
}

TEST(Equalizer, WhatIsNotFiniteMarksItsPacketAlone) {
  const PacketFormat format = short_packets();
  const std::vector<Received> packets(5, receive(format, three_rays(), kNoise, 14));
  const std::string keys = "kinds: [zf, mmse, cma, fde1, fde2]";
  Inputs in(packets);
  const Outputs good = run(format, keys, in);
  in.windows[at(format.window() - 1)] = {0, kNan};
  in.channels[at(2 * kChannelTaps)] = std::numeric_limits<float>::infinity();
  in.noise[3] = kNan;
  std::fill_n(in.channels.begin() + 4 * kChannelTaps, kChannelTaps, cf32());
  const Outputs y = run(format, keys, in);
  const auto symbols = [&](const Outputs& o, std::int64_t p) { return part(o.symbols, p, 5 * format.bits()); };
  const auto taps = [&](const Outputs& o, std::int64_t p) { return part(o.taps, p, 3 * kTaps); };
  for (const std::int64_t p : {0, 2, 3}) EXPECT_TRUE(all_nan(symbols(y, p)) && all_nan(taps(y, p))) << p;
  EXPECT_TRUE(same_bits(symbols(y, 1), symbols(good, 1)));
  EXPECT_TRUE(same_bits(taps(y, 1), taps(good, 1)));
  EXPECT_EQ(symbols(y, 4), Values(at(5 * format.bits())));
  EXPECT_EQ(taps(y, 4), Values(at(3 * kTaps)));
}

TEST(Equalizer, SilenceGivesZeros) {
  const PacketFormat format = short_packets();
  Received packet = receive(format, three_rays(), kNoise, 15);
  std::fill(packet.window.begin(), packet.window.end(), Complex());
  const Outputs y = run(format, "kinds: [zf, mmse, cma, fde1, fde2]", packet);
  EXPECT_EQ(y.symbols, Values(y.symbols.size()));
  EXPECT_TRUE(all_finite(y.taps));
}

std::vector<PortShape> ports(const PacketFormat& format = {}) {
  return {packets_of(Element::cf32, 16, {{"sample", format.window()}}),
          packets_of(Element::cf32, 16, {{"tap", kChannelTaps}}), packets_of(Element::f32, 16, {})};
}
std::string complaints(const std::string& keys) {
  return StageUnderTest(entry(), keys, ports()).complaints();
}

TEST(Equalizer, OutputsHaveTheKindsThatWereAskedFor) {
  const StageUnderTest s(entry(), "{kinds: [fde1, cma, zf]}", ports());
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out(0).text(), "cf32 [packet up to 16][kind 3][symbol 6336]");
  EXPECT_EQ(s.out(1).text(), "cf32 [packet up to 16][kind 2][tap 186]");
  EXPECT_EQ(s.out(0).item[0].labels, (std::vector<std::string>{"fde1", "cma", "zf"}));
  EXPECT_EQ(s.out(1).item[0].labels, (std::vector<std::string>{"cma", "zf"}));
}

TEST(Equalizer, CmaMayBeSetWhileSamplesFlowWhereTheFileDoesNotNameIt) {
  Config unnamed, named;
  named.cma_given = true;
  named.cma_step = 0.02;
  const auto changes =
      differences([&](FieldVisitor& v) { unnamed.fields(v); }, [&](FieldVisitor& v) { named.fields(v); });
  EXPECT_EQ(changes.size(), 2);
  EXPECT_TRUE(all_live(changes));
}

TEST(Equalizer, RefusesWhatCannotBe) {
  EXPECT_THAT(complaints("{}"), HasSubstr("kinds: is required"));
  EXPECT_THAT(complaints("{kinds: [mmsee]}"),
              HasSubstr("'mmsee' is not one of zf, mmse, cma, fde1, fde2 (did you mean"));
  EXPECT_THAT(complaints("{kinds: [zf, zf]}"), HasSubstr("'zf' is listed twice"));
  EXPECT_THAT(complaints("{kinds: []}"), HasSubstr("list one or more of"));
  EXPECT_THAT(complaints("{kinds: [zf], detection_filter: [on, off]}"), HasSubstr("2 words for 1 kinds"));
  EXPECT_THAT(complaints("{kinds: [zf], detection_filter: maybe}"), HasSubstr("'maybe' is not on or off"));
  EXPECT_THAT(complaints("{cma: {step: -1}}"), HasSubstr("cma.step"));
  EXPECT_THAT(complaints("{kinds: [zf], payload_bits: 100}"), HasSubstr("input 'windows' must hold 1096 elements"));
  EXPECT_THAT(complaints("{kinds: [zf], preamble: XY}"), HasSubstr("preamble"));
}

}  // namespace
}  // namespace iqd::equalizer
