// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/packet_format.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(PacketFormat, ThePacketsOfINet) {
  const PacketFormat f;
  EXPECT_FALSE(f.fault());
  EXPECT_EQ(f.preamble_bits(), 128);
  EXPECT_EQ(f.pilot_bits(), 192);
  EXPECT_EQ(f.bits(), 6336);
  EXPECT_EQ(f.period(), 32);
  EXPECT_EQ(f.samples(), 12672);
  EXPECT_EQ(f.window(), 13184);
}

TEST(PacketFormat, ThePilotIsThePreambleSaidSeveralTimesAndTheSyncWord) {
  const auto pilot = PacketFormat{.preamble = "9A", .repeats = 4, .sync_word = "3C5"}.pilot();
  std::string digits;
  for (std::size_t i = 0; i < pilot.size(); i += 4)
    digits += "0123456789ABCDEF"[pilot[i] * 8 + pilot[i + 1] * 4 + pilot[i + 2] * 2 + pilot[i + 3]];
  EXPECT_EQ(digits, "9A9A9A9A3C5");
}

TEST(PacketFormat, WhatCannotBeUsedIsToldWithItsKey) {
  const auto key = [](const PacketFormat& f) { return f.fault() ? f.fault()->key : "none"; };
  EXPECT_EQ(key({.preamble = "CD98", .payload_bits = 2}), "none");
  EXPECT_EQ(key({.preamble = ""}), "preamble");
  EXPECT_EQ(key({.preamble = "CDx8"}), "preamble");
  EXPECT_EQ(key({.preamble = std::string(300, 'C')}), "preamble");
  EXPECT_EQ(key({.preamble = "0xCD98", .sync_word = "0b0011"}), "none");
  EXPECT_EQ(key({.sync_word = "0y34"}), "sync_word");
  EXPECT_EQ(key({.preamble = "0b11001"}), "preamble");
  EXPECT_EQ(key({.repeats = 3}), "repeats");
  EXPECT_EQ(key({.preamble = "C", .repeats = 4, .sync_word = "B05"}), "sync_word");  // 56 samples
  EXPECT_EQ(key({.preamble = "C", .repeats = 4, .sync_word = "B05", .samples_per_bit = 4}), "none");
  EXPECT_EQ(key({.payload_bits = 0}), "payload_bits");
  EXPECT_EQ(key({.payload_bits = 511}), "payload_bits");
  EXPECT_EQ(key({.payload_bits = std::int64_t{1} << 40}), "payload_bits");
  EXPECT_EQ(key({.samples_per_bit = 3}), "samples_per_bit");
  EXPECT_EQ(key({.samples_per_bit = 16}), "samples_per_bit");
}

}  // namespace
}  // namespace iqd
