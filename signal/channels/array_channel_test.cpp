// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/array_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace iqd {
namespace {

using complex = std::complex<double>;

constexpr double kDirect = 300;  // dB: no scattered part

TEST(ArrayChannel, AntennasLieWhereTheyShould) {
  const ArrayChannel circle({.antennas = 8, .radius = 2});
  for (std::int64_t m = 0; m < 8; ++m) {
    const auto p = circle.position(m), next = circle.position((m + 1) % 8);
    EXPECT_EQ(p.x, 0);
    EXPECT_NEAR(std::hypot(p.y, p.z), 2, 1e-12);
    EXPECT_NEAR(std::hypot(p.y - next.y, p.z - next.z), 4 * std::sin(std::numbers::pi / 8), 1e-12);
  }
  for (const auto& [antennas, columns] : {std::pair{16, 4}, {8, 4}, {64, 8}, {12, 4}, {7, 7}, {1, 1}}) {
    const ArrayChannel plane({.array = ArrayKind::planar, .antennas = antennas});
    for (std::int64_t m = 0; m < antennas; ++m) {
      const auto p = plane.position(m);
      EXPECT_EQ(p.x, 0);
      EXPECT_EQ(p.y, 0.5 * static_cast<double>(m % columns));
      EXPECT_EQ(p.z, 0.5 * static_cast<double>(m / columns));
    }
  }
}

TEST(ArrayChannel, UsersAreSpreadEvenly) {
  double least = 0, most = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const ArrayChannel channel({.spread_deg = 30, .seed = seed});
    for (std::int64_t u = 0; u < 6; ++u) {
      const double off = channel.azimuth_deg(u) - (-15 + 6 * static_cast<double>(u));
      EXPECT_LE(std::abs(off), 1);
      EXPECT_LE(std::abs(channel.elevation_deg(u)), 5);
      least = std::min(least, off), most = std::max(most, off);
    }
  }
  EXPECT_LT(least, -0.9);
  EXPECT_GT(most, 0.9);
  EXPECT_EQ(ArrayChannel({.users = 1, .jitter_deg = 0}).azimuth_deg(0), 0);
}

/// An antenna closer to a user receives it earlier.
TEST(ArrayChannel, DirectWavesArePlane) {
  for (const ArrayKind array : {ArrayKind::circular, ArrayKind::planar}) {
    const ArrayChannel channel(
        {.array = array, .antennas = 16, .rice_db = kDirect, .powers_db = {0, -6}, .motion_deg = 40, .seed = 3});
    for (std::int64_t u = 0; u < 3; ++u)
      for (const double seconds : {0.0, 0.5}) {
        const double azimuth = (channel.azimuth_deg(u) + 40 * seconds) * std::numbers::pi / 180;
        const double elevation = channel.elevation_deg(u) * std::numbers::pi / 180;
        const complex first = channel.gain(0, u, seconds);
        EXPECT_NEAR(std::abs(first), u == 1 ? std::pow(10, -6.0 / 20) : 1, 1e-12);
        const auto at = channel.position(0);
        for (std::int64_t m = 1; m < 16; ++m) {
          const auto p = channel.position(m);
          const double further = (p.x - at.x) * std::cos(elevation) * std::cos(azimuth) +
                                 (p.y - at.y) * std::cos(elevation) * std::sin(azimuth) +
                                 (p.z - at.z) * std::sin(elevation);
          EXPECT_LT(std::abs(channel.gain(m, u, seconds) / first - std::polar(1.0, 2 * std::numbers::pi * further)),
                    1e-9);
        }
      }
  }
}

TEST(ArrayChannel, GainsHaveTheirPowerAndRiceFactor) {
  double power = 0, scattered = 0;
  complex phases = 0;
  constexpr int kSeeds = 200;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ArrayChannel channel({.seed = seed}), direct({.rice_db = kDirect, .seed = seed});
    const double share = std::sqrt(std::pow(10, 1.2) / (1 + std::pow(10, 1.2)));
    for (std::int64_t u = 0; u < 6; ++u) {
      phases += direct.gain(0, u);
      for (std::int64_t m = 0; m < 16; ++m) {
        power += std::norm(channel.gain(m, u));
        scattered += std::norm(channel.gain(m, u) - share * direct.gain(m, u));
      }
    }
  }
  EXPECT_NEAR(power / (kSeeds * 96), 1, 0.01);
  EXPECT_NEAR(scattered / (kSeeds * 96), 1 / (1 + std::pow(10, 1.2)), 0.002);
  EXPECT_LT(std::abs(phases) / (kSeeds * 6), 0.1);
}

TEST(ArrayChannel, EachUserHasItsOwnDopplerShift) {
  const ArrayChannel channel({.antennas = 4, .users = 3, .rice_db = -kDirect, .doppler_hz = {0, 50}});
  for (std::int64_t m = 0; m < 4; ++m)
    for (const std::int64_t user : {0, 2}) EXPECT_EQ(channel.gain(m, user, 0), channel.gain(m, user, 1)) << user;
  double apart = 0, soon = 0;
  for (std::int64_t m = 0; m < 4; ++m) {
    apart += std::abs(channel.gain(m, 1, 0) - channel.gain(m, 1, 0.01)) / 4;
    soon += std::abs(channel.gain(m, 1, 0) - channel.gain(m, 1, 1e-5)) / 4;
  }
  EXPECT_GT(apart, 0.3) << "half a turn";
  EXPECT_LT(soon, 0.01);
}

TEST(ArrayChannel, TheSeedSaysItAll) {
  const ArrayChannel a({.motion_deg = 5, .seed = 4}), same({.motion_deg = 5, .seed = 4}), other({.seed = 5});
  EXPECT_EQ(a.gain(3, 2, 0.25), same.gain(3, 2, 0.25));
  EXPECT_NE(a.gain(3, 2), other.gain(3, 2));
  EXPECT_GT(std::abs(a.gain(3, 2, 1) - a.gain(3, 2)), 0.01);
  EXPECT_LT(std::abs(a.gain(3, 2, 0.002) - a.gain(3, 2)), 0.01);
}

}  // namespace
}  // namespace iqd
