// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/transmit/acpr_meter/acpr_meter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "signal/transmit/uplink_waveform.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::acpr_meter {
namespace {

using ::testing::HasSubstr;
using testing::StageUnderTest;
using testing::stream_of;
using Levels = std::array<float, kLevels.size()>;
using Samples = std::vector<cf32>;

constexpr double kRate = 1e6;
const Config kConfig{.carriers = {-50e3, 150e3}, .bandwidth = 50e3, .spacing = 55e3, .size = 4096, .average = 0};

std::size_t at(std::string_view level) {
  return static_cast<std::size_t>(std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin());
}

struct Reading {
  Levels levels{};
  std::vector<float> spectrum;
  std::int64_t frames = 0;
};
Reading read(const Config& config, double rate_hz, const Samples& x) {
  Reading r;
  r.spectrum.resize(static_cast<std::size_t>(config.size));
  std::vector<std::byte> scratch(Meter::scratch_bytes(config.size));
  r.frames = Meter(config, rate_hz).run(x, r.levels, r.spectrum, scratch.data());
  return r;
}

void add_tone(Samples& x, double hz, double db) {
  for (std::size_t n = 0; n < x.size(); ++n)
    x[n] += cf32(std::polar(std::pow(10, db / 20), 2 * std::numbers::pi * hz / kRate * static_cast<double>(n)));
}

/// A tone in the band of each level, outside the bands of all others.
constexpr std::pair<std::string_view, std::pair<double, double>> kTones[] = {
    {"adjacent_low", {-100e3, -40}},  {"adjacent_high", {205e3, -41}},
    {"alternate_low", {-180e3, -50}}, {"alternate_high", {260e3, -51}},
    {"im3_low", {-250e3, -45}},       {"im3_high", {350e3, -46}},
    {"im5_low", {-450e3, -60}},       {"image_low", {-132.5e3, -30}},
    {"image_high", {50e3, -31}},      {"lo", {0, -35}}};

Samples two_carriers_with_tones() {
  Samples x(16'384);
  for (const double hz : {-50e3, 150e3}) add_tone(x, hz, -10);
  for (const auto& [level, tone] : kTones) add_tone(x, tone.first, -10 + tone.second);
  return x;
}

TEST(AcprMeter, EachLevelIsThatOfItsBand) {
  const Reading r = read(kConfig, kRate, two_carriers_with_tones());
  EXPECT_EQ(r.frames, 7);
  EXPECT_NEAR(r.levels[at("carrier")], -10, 0.01);
  for (const auto& [level, tone] : kTones) EXPECT_NEAR(r.levels[at(level)], tone.second, 0.01) << level;
  EXPECT_TRUE(std::isnan(r.levels[at("im5_high")])) << "at 550 kHz";
}

TEST(AcprMeter, ATonesPeakReadsItsAmplitude) {
  Samples x(4096);
  add_tone(x, 0, -20);
  const Reading r = read(kConfig, kRate, x);
  EXPECT_NEAR(r.spectrum[2048], -20, 1e-3);
  EXPECT_EQ(std::max_element(r.spectrum.begin(), r.spectrum.end()) - r.spectrum.begin(), 2048);
}

TEST(AcprMeter, WhatCannotBeToldIsNan) {
  const auto nan_levels = [](const Config& config, double rate_hz) {
    std::string names;
    const Bands bands(config, rate_hz);
    for (std::size_t l = 1; l < kLevels.size(); ++l)
      if (!bands.level(l)) names.append(kLevels[l]).append(" ");
    return names;
  };
  EXPECT_EQ(nan_levels({.carriers = {0}, .bandwidth = 9e6}, 61.44e6),
            "im3_low im3_high im5_low im5_high image_low image_high lo ");
  EXPECT_EQ(nan_levels({.carriers = {5e6, -5e6}, .bandwidth = 2.7e6}, 61.44e6), "image_low image_high ");
  EXPECT_EQ(nan_levels({.carriers = {-3e6, 7e6}, .bandwidth = 2.7e6}, 61.44e6), "");
  EXPECT_EQ(nan_levels({.carriers = {-3e6, 7e6}, .bandwidth = 2.7e6}, 40e6), "im5_low im5_high ");
  // The adjacent channel may touch the carrier.
  EXPECT_EQ(nan_levels({.carriers = {0.3e6}, .bandwidth = 0.1e6, .spacing = 0.1e6}, 1e6).find("adjacent"),
            std::string::npos);
}

TEST(AcprMeter, ACleanSignalReadsClean) {
  UplinkWaveform waveform;
  waveform.rate_hz = 40e6;
  const Reading r = read({.carriers = {0}, .bandwidth = 9e6}, waveform.rate_hz, waveform.make());
  EXPECT_NEAR(r.levels[at("carrier")], 20 * std::log10(0.27), 0.05);
  EXPECT_LT(r.levels[at("adjacent_low")], -90);
  EXPECT_LT(r.levels[at("adjacent_high")], -90);
}

TEST(AcprMeter, SilenceAndNanAreNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Samples x(4096);
  const Reading silence = read(kConfig, kRate, x);
  EXPECT_EQ(silence.spectrum, std::vector<float>(4096, kFloorDb));
  x[9] = {nan, 0};
  const Reading spoilt = read(kConfig, kRate, x);
  for (std::size_t l = 0; l < kLevels.size(); ++l) {
    EXPECT_TRUE(std::isnan(silence.levels[l])) << kLevels[l];
    EXPECT_TRUE(std::isnan(spoilt.levels[l])) << kLevels[l];
  }
  for (const float y : spoilt.spectrum) EXPECT_TRUE(std::isnan(y));
  x[9] = {std::numeric_limits<float>::infinity(), 0};
  for (const float y : read(kConfig, kRate, x).spectrum) EXPECT_TRUE(std::isnan(y));
}

TEST(AcprMeter, AverageTakesTheFirstFrames) {
  Samples x(16'384);
  add_tone(x, -50e3, 0);
  std::fill(x.begin() + 4096, x.end(), cf32());
  Config config = kConfig;
  config.average = 1;
  EXPECT_EQ(read(config, kRate, x).frames, 1);
  EXPECT_NEAR(read(config, kRate, x).levels[0], 10 * std::log10(0.5), 0.01);  // the other carrier is missing
}

/// The stage on a block of two channels, with both outputs or only the levels.
struct Block {
  explicit Block(const Samples& x, std::int64_t begin, bool with_spectrum)
      : levels(2 * kLevels.size()), spectrum(2 * 256) {
    Problems problems;
    const std::unique_ptr<Stage> stage = entry().make();
    const Document document =
        parse_document("{carriers: [-50 kHz, 150 kHz], bandwidth: 50 kHz, size: 256}", "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    const std::vector<PortShape> in{stream_of(Element::cf32, 2)};
    shapes.assign(2, in[0]);
    Footprint footprint;
    ShapeContext context{.in = in, .out = shapes, .footprint = {&footprint, 1}, .section = section};
    stage->shape(context);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
    std::vector<std::byte> scratch(context.scratch_bytes);
    Samples given = x;
    const std::int64_t n = std::ssize(given) / 2;
    const PortIo from{.data = reinterpret_cast<std::byte*>(given.data()), .length = n, .pitch = n * 8, .rows = 2};
    const auto to = [](std::vector<float>& memory, bool wanted, std::int32_t* count) {
      const std::int64_t item = std::ssize(memory) / 2;
      return PortIo{.data = wanted ? reinterpret_cast<std::byte*>(memory.data()) : nullptr,
                    .length = 1,
                    .pitch = item * 4,
                    .rows = 2,
                    .item = item,
                    .count = count};
    };
    const std::array out{to(levels, true, &counts[0]), to(spectrum, with_spectrum, &counts[1])};
    const auto run = stage->make(*make_cpu_backend());
    run->enqueue({.in = {&from, 1}, .out = out, .first_new = begin, .end_new = n, .scratch = scratch.data()}, {});
  }
  std::vector<PortShape> shapes;
  std::vector<float> levels, spectrum;
  std::array<std::int32_t, 2> counts{-1, -1};
};

TEST(AcprMeter, ChannelsAreIndependentAndTheSpectrumMayBeLeftOut) {
  Samples x(1000), other(1000);
  for (const double hz : {-50e3, 150e3}) add_tone(x, hz, -10), add_tone(other, hz, -20);
  add_tone(other, 0, -50);
  x.insert(x.end(), other.begin(), other.end());
  const Block both(x, 100, true), alone(x, 100, false);
  EXPECT_EQ(both.shapes[0].text(), "f32 [channel 2][level 12]");
  EXPECT_EQ(both.shapes[1].text(), "f32 [channel 2][bin 256]");
  EXPECT_EQ(both.shapes[0].item[0].labels[at("lo")], "lo");
  EXPECT_EQ(both.counts, (std::array<std::int32_t, 2>{1, 1}));
  EXPECT_NEAR(both.levels[0], -10, 0.02);
  EXPECT_NEAR(both.levels[kLevels.size()], -20, 0.02);
  EXPECT_LT(both.levels[at("lo")], -70);
  EXPECT_NEAR(both.levels[kLevels.size() + at("lo")], -30, 0.1);
  EXPECT_NEAR(both.spectrum[256 + 128], -50, 0.1);
  EXPECT_EQ(alone.counts, (std::array<std::int32_t, 2>{1, 1}));
  EXPECT_EQ(alone.levels[at("adjacent_low")], both.levels[at("adjacent_low")]);
}

TEST(AcprMeter, ABlockWithoutAFrameGivesNothing) {
  EXPECT_EQ(Block(Samples(2 * 300), 45, true).counts, (std::array<std::int32_t, 2>{0, 0}));
  EXPECT_EQ(Block(Samples(2 * 300), 44, true).counts, (std::array<std::int32_t, 2>{1, 1}));
  EXPECT_EQ(Block(Samples(2 * 300), 300, true).counts, (std::array<std::int32_t, 2>{0, 0}));
}

TEST(AcprMeter, BadKeysAreRefused) {
  const auto complaints = [](const std::string& keys, double rate = 61.44e6) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32, 1, rate)}).complaints();
  };
  EXPECT_EQ(complaints("{bandwidth: 9 MHz}"), "");
  EXPECT_THAT(complaints("{}"), HasSubstr("bandwidth"));
  EXPECT_THAT(complaints("{bandwidth: 100 kHz}"), HasSubstr("bandwidth: must be at least 8 bins"));
  EXPECT_THAT(complaints("{bandwidth: 9 MHz, spacing: 8 MHz}"), HasSubstr("spacing: must be at least the `bandwidth`"));
  EXPECT_THAT(complaints("{bandwidth: 9 MHz, carriers: []}"), HasSubstr("carriers: must list at least one"));
  EXPECT_THAT(complaints("{bandwidth: 9 MHz, carriers: [0, 27 MHz]}"), HasSubstr("the carrier at 27 MHz"));
  EXPECT_THAT(complaints("{bandwidth: 9 MHz}", 0), HasSubstr("which is not known"));
}

}  // namespace
}  // namespace iqd::acpr_meter
