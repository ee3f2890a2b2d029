// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator_for_test.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::packet_estimator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const std::vector<double> kOffsets{-0.09, 0.0123, 0, 0.09, -0.03};

const cf32* window_of(const std::vector<cf32>& windows, std::size_t p) {
  return windows.data() + p * static_cast<std::size_t>(short_packets().window());
}

TEST(PacketEstimator, IsTheDefinitionInSinglePrecision) {
  Signal signal;
  signal.taps = {1, {0.3, -0.2}, 0, {-0.1, 0.4}};
  signal.noise = 0.2;
  const auto windows = signal.windows(kOffsets);
  const Results got = Estimator("average: packet").run(windows);
  Model model;
  for (std::size_t p = 0; p < kOffsets.size(); ++p) {
    const double offset = model.offset(model.correlation(window_of(windows, p)));
    model.compare(windows, got, p, offset);
    EXPECT_NEAR(offset, kOffsets[p], 5 * 6.3e-4) << "the signal's offset, within five standard deviations";
  }
}

TEST(PacketEstimator, WholePacketsTurnAsExactlyAsShortOnes) {
  const PacketFormat inet;
  Signal signal(inet);
  signal.noise = 0.02;
  const auto windows = signal.windows({0.0712});
  Model model(inet);
  model.compare(windows, Estimator("average: packet", inet).run(windows), 0,
                model.offset(model.correlation(windows.data())));
}

TEST(PacketEstimator, OtherPacketsAreEstimatedAsWell) {
  PacketFormat slow = short_packets();
  slow.samples_per_bit = 4;
  PacketFormat other = short_packets();
  other.preamble = "B1E";
  other.repeats = 6;
  other.sync_word = "1ACFFC1D1ACFFC1D";
  for (const PacketFormat& format : {slow, other}) {
    Signal signal(format);
    signal.taps = {1, 0, {0.3, -0.2}};
    signal.noise = 0.1;
    const auto windows = signal.windows({0.02});
    Model model(format);
    const Results got = Estimator("average: packet", format).run(windows);
    model.compare(windows, got, 0, model.offset(model.correlation(windows.data())));
    EXPECT_NEAR(got.offset[0], 0.02, 3e-3);
  }
}

TEST(PacketEstimator, ABlockHasOneOffset) {
  Signal signal;
  signal.noise = 0.2;
  const auto windows = signal.windows({0.021, 0.019, 0.020});
  Model model;
  complex sum = 0;
  for (std::size_t p = 0; p < 3; ++p) sum += model.correlation(window_of(windows, p));
  const Results got = Estimator("average: block").run(windows);
  for (std::size_t p = 0; p < 3; ++p) model.compare(windows, got, p, model.offset(sum));
}

TEST(PacketEstimator, EachByItselfItDoesNotMatterHowPacketsAreCut) {
  Signal signal;
  signal.noise = 0.2;
  const auto windows = signal.windows(kOffsets);
  Estimator estimator("average: packet");
  const std::ptrdiff_t cut = 2 * short_packets().window();
  Results cut_up = estimator.run({windows.begin(), windows.begin() + cut});
  cut_up.append(estimator.run({windows.begin() + cut, windows.end()}));
  EXPECT_TRUE(same(cut_up, estimator.run(windows)));
}

TEST(PacketEstimator, TheMeanIsCarriedOnUntilAGap) {
  Signal signal;
  signal.noise = 0.2;
  const auto windows = signal.windows({0.03, 0.031, 0.032, 0.033});
  Estimator whole("average: carry, memory: 4"), parts("average: carry, memory: 4");
  const Results got = whole.run(windows, true);
  Model model;
  complex mean = model.correlation(window_of(windows, 0));
  for (std::size_t p = 0; p < 4; ++p) {
    mean += (model.correlation(window_of(windows, p)) - mean) / 4.0;  // for the first packet, the mean is its own S
    model.compare(windows, got, p, model.offset(mean));
  }
  const std::ptrdiff_t cut = short_packets().window();
  Results cut_up = parts.run({windows.begin(), windows.begin() + cut}, true);
  cut_up.append(parts.run({windows.begin() + cut, windows.end()}));
  EXPECT_TRUE(same(cut_up, got));
  EXPECT_TRUE(same(whole.run(windows, true), got)) << "a gap makes it forget";
  EXPECT_NE(whole.run(windows, false).offset, got.offset);
}

TEST(PacketEstimator, FindsTheChannelThatThereIs) {
  Signal signal;
  signal.taps = {{0.8, 0.1}, {0, 0.5}, 0, 0, {-0.3, 0.2}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0.1, 0}};
  signal.ideal = true;
  const auto windows = signal.windows({0.05});
  const Results got = Estimator("average: packet, lambda: 0").run(windows);
  for (std::size_t tap = 0; tap < kTaps; ++tap) {
    const std::size_t m = tap - kTapsBefore;
    const complex expected = m < signal.taps.size() ? signal.taps[m] * std::polar(1.0, 0.7) : 0;
    EXPECT_LE(std::abs(complex(got.channel[tap]) - expected), 1e-4) << "tap " << static_cast<int>(m);
  }
  EXPECT_LE(got.noise[0], 1e-9);
}

TEST(PacketEstimator, NoiseIsTheVarianceThatThereIs) {
  Signal signal;
  signal.taps = {1, 0, {0.2, 0.3}};
  constexpr int kPackets = 50;
  for (const double variance : {0.5, 0.05}) {
    signal.noise = variance;
    const Results got = Estimator("average: block").run(signal.windows(std::vector<double>(kPackets, 0.01)));
    double mean = 0;
    for (const float n : got.noise) mean += n / kPackets;
    EXPECT_NEAR(mean / variance, 1, 0.02 + 4 * 0.058 / std::sqrt(kPackets));
  }
}

TEST(PacketEstimator, RhoIsThePartOfTheNoiseThatIsLeft) {
  for (const double lambda : {0.0, 1.0, 30.0}) {
    const auto pilot = make_pilot(short_packets(), lambda);
    ASSERT_TRUE(pilot);
    EXPECT_NEAR(pilot->rho, Model(short_packets(), lambda).rho(), 1e-5);
  }
}

TEST(PacketEstimator, NanStaysInItsPacket) {
  Signal signal;
  signal.noise = 0.2;
  const auto good = signal.windows({0.02, 0.021});
  const std::size_t window = good.size() / 2;
  for (const float bad : {kNan, std::numeric_limits<float>::infinity(), -2e18f})
    for (const std::size_t place : {std::size_t{0}, std::size_t{500}, window - 1})
      for (const char* average : {"block", "carry"}) {
        std::vector<cf32> windows = good;  // the first, a spoiled one, the second
        windows.insert(windows.begin() + std::ssize(good) / 2, good.begin(), good.begin() + std::ssize(good) / 2);
        windows[window + place] = {0, bad};
        const Results got = Estimator(fmt::format("average: {}", average)).run(windows, true);
        const Results alone = Estimator(fmt::format("average: {}", average)).run(good, true);
        for (std::size_t i = 0; i < window; ++i)
          ASSERT_TRUE(std::isnan(got.windows[window + i].real()) && std::isnan(got.windows[window + i].imag()));
        for (std::size_t i = 0; i < kTaps; ++i) ASSERT_TRUE(std::isnan(got.channel[kTaps + i].real()));
        EXPECT_TRUE(std::isnan(got.noise[1]) && std::isnan(got.offset[1]) && std::isnan(got.offset_hz[1]));
        EXPECT_THAT((std::vector<float>{got.noise[0], got.noise[2]}), ::testing::ElementsAreArray(alone.noise));
        EXPECT_THAT((std::vector<float>{got.offset[0], got.offset[2]}), ::testing::ElementsAreArray(alone.offset));
      }
}

TEST(PacketEstimator, SilenceGivesZerosAndDoesNotCount) {
  Signal signal;
  signal.noise = 0.2;
  const auto good = signal.windows({0.02});
  Estimator estimator("average: block");
  const Results silent = estimator.run(std::vector<cf32>(good.size()));
  EXPECT_THAT(silent.windows, ::testing::Each(cf32()));
  EXPECT_THAT(silent.channel, ::testing::Each(cf32()));
  EXPECT_THAT(silent.noise, ElementsAre(0));
  EXPECT_THAT(silent.offset, ElementsAre(0));
  std::vector<cf32> both(good.size());
  both.insert(both.end(), good.begin(), good.end());
  const Results got = estimator.run(both), alone = estimator.run(good);
  EXPECT_EQ(got.offset[1], alone.offset[0]);
  EXPECT_EQ(got.noise, (std::vector<float>{0, alone.noise[0]}));
}

TEST(PacketEstimator, WhatDoesNotTurnIsLeftAsItIs) {
  const std::vector<cf32> ones(static_cast<std::size_t>(short_packets().window()), cf32(1, 0));
  EXPECT_EQ(Estimator("average: packet").run(ones).windows, ones);
}

TEST(PacketEstimator, LevelDoesNotMatter) {
  Signal signal;
  signal.noise = 0.2;
  const auto windows = signal.windows({0.02});
  Estimator estimator("average: packet");
  const Results plain = estimator.run(windows);
  for (const float level : {0x1p-40f, 0x1p50f}) {
    auto scaled = windows;
    for (cf32& v : scaled) v *= level;
    Results got = estimator.run(scaled);
    for (cf32& v : got.windows) v /= level;
    for (cf32& v : got.channel) v /= level;
    got.noise[0] = got.noise[0] / level / level;
    EXPECT_TRUE(same(got, plain)) << level;
  }
}

TEST(PacketEstimator, WhatNobodyWantsIsLeftOut) {
  Signal signal;
  signal.noise = 0.2;
  const auto windows = signal.windows({0.02, 0.03});
  Estimator estimator("average: packet");
  const Results all = estimator.run(windows), least = estimator.run(windows, false, false);
  EXPECT_EQ(least.noise, all.noise);
  EXPECT_EQ(least.offset_hz, all.offset_hz);
  EXPECT_TRUE(estimator.run({}).noise.empty());
}

TEST(PacketEstimator, SaysWhatItMakes) {
  const StageUnderTest packet(entry(), "{average: packet}", {windows_of({}, 16)}, 16);
  EXPECT_EQ(packet.out(0).text(), "cf32 [packet up to 16][sample 13184]");
  EXPECT_EQ(packet.out(1).text(), "cf32 [packet up to 16][tap 38]");
  for (const std::size_t o : {2u, 3u, 4u}) EXPECT_EQ(packet.out(o).text(), "f32 [packet up to 16]");
  EXPECT_THAT(packet.out(0).marks, ElementsAre("offset_of_packet"));
  for (const std::size_t o : {5u, 6u}) EXPECT_EQ(packet.out(o).text(), "f32") << "stays empty";
  EXPECT_FALSE(packet.chunk_exempt());
  const StageUnderTest block(entry(), "{}", {windows_of({}, 16)}, 16);
  EXPECT_TRUE(block.out(0).marks.empty());
  EXPECT_TRUE(block.chunk_exempt());
}

TEST(PacketEstimator, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& keys, const PacketFormat& format) {
    return StageUnderTest(entry(), keys, {windows_of(format, 16)}, 16).complaints();
  };
  EXPECT_THAT(complaints("{}", short_packets()), HasSubstr("13184 elements a packet"));
  EXPECT_THAT(complaints("{lambda: -1}", {}), HasSubstr("lambda"));
  EXPECT_THAT(complaints("{memory: 0.5}", {}), HasSubstr("memory"));
  PacketFormat periodic = short_packets();  // its pilot is periodic throughout
  periodic.preamble = periodic.sync_word = "CCCCCCCC";
  EXPECT_THAT(complaints(keys_of(periodic, "lambda: 0"), periodic), HasSubstr("lambda: is too small: this pilot"));
  EXPECT_EQ(complaints(keys_of(periodic, "lambda: 1"), periodic), "");
}

}  // namespace
}  // namespace iqd::packet_estimator
