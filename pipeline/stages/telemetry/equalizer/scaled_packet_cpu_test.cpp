// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/scaled_packet_cpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace iqd::equalizer {
namespace {

/// A packet of small numbers.
struct SmallPacket {
  Setup setup;
  std::vector<cf32> window;
  std::vector<cf32> channel = std::vector<cf32>(kChannelTaps);
  float noise = 0.5f;

  SmallPacket() {
    setup.format.payload_bits = 64;
    setup.window.size = transform_size(setup.format);
    for (std::int64_t n = 0; n < setup.format.window(); ++n) window.emplace_back(static_cast<float>(n), 1);
    channel[3] = {0.1f, -3};
  }
  Packet packet() const { return {window.data(), channel.data(), noise, nullptr, nullptr}; }
  float unit() const { return unit_of(packet(), setup.format.window()); }
};

TEST(ScaledPacket, TheUnitBringsTheChannelToOne) {
  SmallPacket in;
  EXPECT_EQ(in.unit(), 0.5f);
  in.channel[3] = 0x1p-100f;
  EXPECT_EQ(in.unit(), 0x1p100f);
  in.channel[3] = 0x1p127f;
  EXPECT_EQ(in.unit(), 0x1p-126f);  // still a normal number
}

TEST(ScaledPacket, WithoutAChannelTheUnitIsZero) {
  SmallPacket in;
  in.channel[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(in.unit(), 0);
}

TEST(ScaledPacket, WhatIsNotFiniteHasNoUnit) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    SmallPacket window, channel, noise;
    window.window.back() = {0, bad};
    channel.channel[0] = bad;
    noise.noise = bad;
    for (const SmallPacket* in : {&window, &channel, &noise}) EXPECT_TRUE(std::isnan(in->unit()));
  }
}

TEST(ScaledPacket, InputsAreScaledAndPadded) {
  SmallPacket in;
  Scratch count(nullptr);
  const ScaledPacket counted(in.setup, count);
  std::vector<std::byte> memory(count.bytes(), std::byte{0xff});
  Scratch scratch(memory.data());
  ScaledPacket scaled(in.setup, scratch);
  scaled.load(in.packet(), 0.5f);
  EXPECT_EQ(scaled.channel()[3], cf32(0.05f, -1.5f));
  EXPECT_EQ(scaled.noise(), 0.125f);
  for (std::int64_t n = 0; n < in.setup.window.size; ++n)
    ASSERT_EQ(scaled.samples()[n], n < std::ssize(in.window) ? 0.5f * in.window[n] : cf32()) << n;
  const std::vector<cf32> taps(kTaps, cf32(4, -2));
  std::vector<cf32> unscaled(kTaps);
  scaled.unscale_taps(taps.data(), unscaled.data());
  EXPECT_EQ(unscaled, std::vector<cf32>(kTaps, cf32(2, -1)));
  in.noise = -1;
  scaled.load(in.packet(), 0.5f);
  EXPECT_EQ(scaled.noise(), 0);
}

}  // namespace
}  // namespace iqd::equalizer
