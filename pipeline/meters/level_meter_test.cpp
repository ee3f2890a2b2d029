// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/meters/level_meter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/log.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kRate = 1000;

StreamInfo radio(Element element, int channels = 1, double full_scale = 0) {
  StreamInfo info;
  info.element = element;
  info.channels = channels;
  info.rate_hz = kRate;
  info.reconnects = true;
  info.full_scale = full_scale;
  return info;
}

/// A meter and what it shows.
struct Rig {
  explicit Rig(const StreamInfo& info) : meter("test", info, shown) {}
  template <class T> void look(std::vector<T> x) {
    std::byte* const from[] = {reinterpret_cast<std::byte*>(x.data())};
    meter.look(from, std::ssize(x));
  }
  /// A second with this many samples at full scale.
  void second(int clipped) {
    std::vector<sc16> x(kRate, sc16{100, 100});
    for (int i = 0; i < clipped; ++i) x[static_cast<std::size_t>(i) * 2] = {32767, 0};
    look(x);
  }

  std::vector<ChannelLevel> shown;
  LevelMeter meter;
};

template <class T> std::vector<T> tone(double amplitude) {
  std::vector<T> x(kRate);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double phase = 2 * std::numbers::pi * static_cast<double>(n) / 8;
    const double re = amplitude * std::cos(phase), im = amplitude * std::sin(phase);
    if constexpr (std::is_same_v<T, sc16>)
      x[n] = {static_cast<std::int16_t>(std::lround(re)), static_cast<std::int16_t>(std::lround(im))};
    else
      x[n] = {static_cast<float>(re), static_cast<float>(im)};
  }
  return x;
}

TEST(LevelMeter, AToneOfAmplitudeOneIsFullScale) {
  Rig whole(radio(Element::sc16)), twelve_bits(radio(Element::sc16, 1, 2048)), floats(radio(Element::cf32, 1, 1));
  whole.look(tone<sc16>(3276.8));
  twelve_bits.look(tone<sc16>(204.8));
  floats.look(tone<cf32>(0.1));
  for (const Rig* rig : {&whole, &twelve_bits, &floats}) {
    EXPECT_NEAR(rig->shown[0].rms_dbfs.value(), -20, 0.02);
    EXPECT_NEAR(rig->shown[0].peak_dbfs.value(), -20, 0.02);
    EXPECT_EQ(rig->shown[0].clipped.value(), 0u);
  }
}

TEST(LevelMeter, WhatIsNoNumberIsNotClippedAndDoesNotSpoilTheRest) {
  Rig radio_of_one(radio(Element::cf32, 1, 1)), without_scale(radio(Element::cf32));
  for (Rig* rig : {&radio_of_one, &without_scale}) {
    std::vector<cf32> x(kRate, cf32{0.1F, 0});
    for (std::size_t n = 0; n < x.size(); n += 2) x[n] = {std::nanf(""), n % 4 == 0 ? INFINITY : 0.0F};
    rig->look(x);
    EXPECT_EQ(rig->shown[0].clipped.value(), 0u);
    EXPECT_FALSE(rig->shown[0].overloaded);
    EXPECT_NEAR(rig->shown[0].rms_dbfs.value(), -20 - 10 * std::log10(2), 0.01);
    EXPECT_NEAR(rig->shown[0].peak_dbfs.value(), -20, 0.01);
  }
}

TEST(LevelMeter, ShowsTheLastWholeSecondAndWhatIsLeftAtTheEnd) {
  Rig rig(radio(Element::sc16));
  rig.look(std::vector<sc16>(kRate - 1, sc16{32, 0}));
  EXPECT_TRUE(std::isnan(rig.shown[0].rms_dbfs.value())) << "the second is not over";
  rig.look(std::vector<sc16>(1, sc16{32, 0}));
  EXPECT_NEAR(rig.shown[0].rms_dbfs.value(), 20 * std::log10(32.0 / 32768), 1e-9);
  rig.look(std::vector<sc16>(10, sc16{0, -320}));
  rig.meter.finish();
  EXPECT_NEAR(rig.shown[0].peak_dbfs.value(), 20 * std::log10(320.0 / 32768), 1e-9);
  Rig silent(radio(Element::sc16));
  silent.look(std::vector<sc16>(kRate));
  EXPECT_EQ(silent.shown[0].rms_dbfs.value(), -INFINITY);
}

TEST(LevelMeter, ChannelsAreMeasuredApart) {
  Rig rig(radio(Element::sc16, 2));
  std::vector<sc16> loud(kRate, sc16{-32768, 0}), low(kRate, sc16{33, 0});
  std::byte* const from[] = {reinterpret_cast<std::byte*>(loud.data()), reinterpret_cast<std::byte*>(low.data())};
  rig.meter.look(from, kRate);
  ASSERT_EQ(rig.shown.size(), 2u);
  EXPECT_EQ(rig.shown[0].clipped.value(), static_cast<std::uint64_t>(kRate));
  EXPECT_EQ(rig.shown[1].clipped.value(), 0u);
  EXPECT_NEAR(rig.shown[0].rms_dbfs.value() - rig.shown[1].rms_dbfs.value(), 20 * std::log10(32768 / 33.0), 1e-9);
}

TEST(LevelMeter, AnOverloadIsOneEpisodeWithOneLineAtEachEnd) {
  Rig rig(radio(Element::sc16));
  const ChannelLevel& shown = rig.shown[0];
  rig.second(0);
  EXPECT_FALSE(shown.overloaded);
  const std::uint64_t lines = log::lines();
  for (int i = 0; i < 5; ++i) rig.second(3);
  EXPECT_TRUE(shown.overloaded);
  for (int i = 0; i < LevelMeter::kQuietSeconds - 1; ++i) rig.second(0);
  rig.second(1);
  EXPECT_TRUE(shown.overloaded) << "it was quiet for only nine seconds";
  EXPECT_EQ(shown.overloads.value(), 1u);
  EXPECT_EQ(shown.clipped.value(), 16u);
  EXPECT_EQ(log::lines() - lines, 1u);
  for (int i = 0; i < LevelMeter::kQuietSeconds; ++i) rig.second(0);
  EXPECT_FALSE(shown.overloaded);
  EXPECT_EQ(log::lines() - lines, 2u);
  rig.second(500);
  EXPECT_EQ(shown.overloads.value(), 2u);
}

TEST(LevelMeter, AFewClippedSamplesAreNoOverload) {
  StreamInfo info = radio(Element::sc16);
  info.rate_hz = 20 * kRate;
  Rig rig(info);
  for (int i = 0; i < 20; ++i) rig.second(i < 2 ? 1 : 0);
  EXPECT_FALSE(rig.shown[0].overloaded) << "2 of 20,000 are 1 in 10,000, and not more";
  for (int i = 0; i < 20; ++i) rig.second(i < 3 ? 1 : 0);
  EXPECT_TRUE(rig.shown[0].overloaded);
}

TEST(LevelMeter, FloatsThatNoConverterGaveAreNeverClipped) {
  Rig rig(radio(Element::cf32));
  rig.look(tone<cf32>(100));
  EXPECT_NEAR(rig.shown[0].rms_dbfs.value(), 40, 1e-3);
  EXPECT_EQ(rig.shown[0].clipped.value(), 0u);
  EXPECT_TRUE(Rig(radio(Element::f32)).shown.empty());
}

}  // namespace
}  // namespace iqd
