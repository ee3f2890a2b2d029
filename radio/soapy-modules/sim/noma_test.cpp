// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "signal/channels/array_channel.hpp"
#include "signal/formats/noma_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"
#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using complex = std::complex<double>;

constexpr double kRateNoma = 30.72e6;
constexpr std::size_t kFrameNoma = 74528;
constexpr double kStep = 1.0 / 32768;

Samples hear_noma(const std::string& args, std::size_t samples, std::size_t channel = 0, std::size_t piece = 16384) {
  return hear("scenario=noma," + args, kRateNoma, samples, piece, channel);
}

/// [user][sample] of frame number `frame`, each user of power 1.
std::vector<Samples> sent_noma(const NomaFormat& format, SymbolMap map, int order, std::int64_t frame) {
  const NomaFrameMaker maker(format, map);
  const OfdmFrameBits payload(format.frame_bits(map), std::nullopt, order);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(payload.bits()));
  std::vector<std::byte> scratch(maker.scratch_bytes());
  payload.payload(frame, bits);
  std::vector<Samples> x(static_cast<std::size_t>(format.users), Samples(kFrameNoma));
  const auto each = static_cast<std::size_t>(format.user_bits(map));
  for (std::size_t u = 0; u < x.size(); ++u)
    maker.make(static_cast<std::int64_t>(u), 1, std::span(bits).subspan(u * each, each), x[u].data(), scratch.data());
  return x;
}

TEST(SimNoma, AChannelHearsAllUsersThroughTheArray) {
  for (const ArrayKind array : {ArrayKind::circular, ArrayKind::planar}) {
    const ArrayChannel channel({.array = array,
                                .antennas = 4,
                                .users = 3,
                                .spread_deg = 40,
                                .jitter_deg = 2,
                                .powers_db = {0, -3, -10},
                                .motion_deg = 1000,
                                .seed = 7});
    const NomaFormat format{.users = 3};
    const std::string args = std::string(array == ArrayKind::planar ? "array=planar," : "") +
                             "rx=4,users=3,spread=40,jitter=2,powers=0/-3/-10,seed=7,motion=1000,modulation=16qam,"
                             "payload=pn15,level=-16,period=4";
    const double amplitude = std::pow(10, -16.0 / 20) / std::sqrt(1 + std::pow(10, -0.3) + 0.1);
    const Samples x = hear_noma(args, 1001 + 4 * kFrameNoma, 2);
    for (std::size_t frame = 0; frame < 4; ++frame) {  // users move forth, then back
      const double seconds = static_cast<double>(std::min(frame, 4 - frame) * kFrameNoma) / kRateNoma;
      const auto users = sent_noma(format, SymbolMap::qam16, 15, static_cast<std::int64_t>(frame));
      const auto expected = [&](std::size_t n) {
        complex sum = 0;
        for (std::size_t u = 0; u < 3; ++u)
          sum += channel.gain(2, static_cast<std::int64_t>(u), seconds) * complex(users[u][n]);
        return amplitude * sum;
      };
      EXPECT_LT(largest_error(x, 1001 + frame * kFrameNoma, 2 * 2192, expected), kStep) << frame;
    }
  }
}

TEST(SimNoma, LevelIsThatOfAllUsers) {
  double power = 0;
  for (int seed = 1; seed <= 8; ++seed)
    power +=
        std::pow(10, power_db(hear_noma("rx=1,period=1,level=-20,powers=0/0/-6/-6/-9/-9,seed=" + std::to_string(seed),
                                        kFrameNoma)) /
                         10) /
        8;
  EXPECT_NEAR(10 * std::log10(power), -20, 1.5);
}

TEST(SimNoma, APeriodComesAgainWithItsNoise) {
  const Samples x = hear_noma("rx=1,users=2,period=2,snr=10,offset=1000,motion=30", 5 * kFrameNoma);
  EXPECT_TRUE(std::equal(x.begin(), x.begin() + 3 * kFrameNoma, x.begin() + 2 * kFrameNoma));
  EXPECT_NE(x[5000], x[kFrameNoma + 5000]);
}

TEST(SimNoma, NoiseIsThatOfTheCarriers) {
  const std::string args = "rx=2,users=2,powers=-10/-10,period=2,level=-40";
  for (const std::size_t channel : {0u, 1u}) {
    const Samples clean = hear_noma(args, 2 * kFrameNoma, channel);
    Samples noise = hear_noma(args + ",snr=-5", 2 * kFrameNoma, channel);
    for (std::size_t n = 0; n < noise.size(); ++n) noise[n] -= clean[n];
    // A 0 dB user has 7 dB more than these two together.
    EXPECT_NEAR(power_db(noise), -40 + 7 + 5 + 10 * std::log10(2048.0 / 144), 0.05);
  }
}

TEST(SimNoma, TheCarrierFitsThePeriod) {
  const std::string args = "rx=1,users=1,level=-10,period=1,start=0";
  const Samples x = hear_noma(args, 2 * kFrameNoma), turned = hear_noma(args + ",offset=-12345", 2 * kFrameNoma);
  const double turns = std::round(-12345 / kRateNoma * kFrameNoma);  // in a period
  const auto expected = [&](std::size_t n) {
    return complex(x[n]) * std::polar(1.0, 2 * std::numbers::pi * turns / kFrameNoma * static_cast<double>(n));
  };
  EXPECT_LT(largest_error(turned, 0, 2 * kFrameNoma, expected), 2 * kStep);
}

/// Carriers of all symbols but the first, of a window that begins `early` samples before each symbol.
std::vector<complex> carriers_of(const NomaFormat& format, const Samples& x, std::size_t first, std::int64_t early) {
  std::vector<complex> all;
  for (std::int64_t s = 1; s < format.air.symbols(); s += 8)
    for (std::int64_t c = 0; c < format.air.carriers; c += 7) {
      complex sum = 0;
      for (std::int64_t n = 0; n < format.air.fft; ++n) {
        const double turns =
            static_cast<double>(format.air.frequency_of(c) * n % format.air.fft) / static_cast<double>(format.air.fft);
        sum += complex(x[first + static_cast<std::size_t>(format.air.begin_of(s) - early + n)]) *
               std::polar(1.0, -2 * std::numbers::pi * turns);
      }
      all.push_back(sum);
    }
  return all;
}

TEST(SimNoma, AUserComesLaterWithAnEchoAndOnItsOwnFrequency) {
  const NomaFormat format{.users = 1};
  const std::string args = "rx=1,users=1,level=-20,period=2,start=0,code=80216e_2304_1_2";
  const auto plain = carriers_of(format, hear_noma(args, 2 * kFrameNoma), kFrameNoma, 20);
  const auto later = carriers_of(format, hear_noma(args + ",delay=30.4", 2 * kFrameNoma), kFrameNoma, 20);
  std::size_t i = 0;
  for (std::int64_t s = 1; s < format.air.symbols(); s += 8)
    for (std::int64_t c = 0; c < format.air.carriers; c += 7, ++i) {
      const double turns = -static_cast<double>(format.air.frequency_of(c)) * 30.4 / 2048;
      EXPECT_LT(std::abs(later[i] - plain[i] * std::polar(1.0, 2 * std::numbers::pi * turns)),
                3e-3 * std::abs(plain[i]))
          << s << ' ' << c;
    }
  EXPECT_EQ(hear_noma("rx=1,users=2,powers=0/-200,delay=30.4/0", 100),
            hear_noma("rx=1,users=2,powers=0/-200,delay=30.4/0.5", 100));
  // 0 dB: the power of both paths stays that of one; an echo of half a band's turn makes carriers unlike.
  const Samples echo = hear_noma(args + ",echo=0,echo_delay=14", 2 * kFrameNoma);
  EXPECT_NEAR(power_db(echo), -20, 3);
  double least = 1e9, most = 0;
  for (const complex v : carriers_of(format, echo, kFrameNoma, 20)) {
    least = std::min(least, std::abs(v));
    most = std::max(most, std::abs(v));
  }
  EXPECT_GT(most, 2 * least);
  // An offset of the only user is the offset of the carrier.
  const Samples both = hear_noma("rx=1,users=2,powers=0/-200,offset=5000/-300,period=2,start=0", 2 * kFrameNoma);
  const Samples common = hear_noma("rx=1,users=2,powers=0/-200,offset=5000,period=2,start=0", 2 * kFrameNoma);
  EXPECT_LT(largest_error(both, 0, 2 * kFrameNoma, [&](std::size_t n) { return complex(common[n]); }), 2 * kStep);
}

TEST(SimNoma, UsersHaveTheirOwnModulation) {
  const Samples mixed = hear_noma("rx=1,users=2,powers=0/-200,modulation=16qam/qpsk,period=1", kFrameNoma);
  EXPECT_EQ(mixed, hear_noma("rx=1,users=2,powers=0/-200,modulation=16qam/16qam,period=1", kFrameNoma));
  EXPECT_NE(mixed, hear_noma("rx=1,users=2,powers=0/-200,modulation=qpsk,period=1", kFrameNoma));
}

TEST(SimNoma, WithADopplerShiftAFrameMoves) {
  const std::string args = "rx=2,users=1,level=-20,period=4,start=0";
  const Samples still = hear_noma(args, 4 * kFrameNoma, 1),
                moving = hear_noma(args + ",doppler=200", 4 * kFrameNoma, 1);
  const auto gain_at = [&](std::size_t first) {
    complex product = 0;
    double energy = 0;
    for (std::size_t n = first; n < first + 2048; ++n) {
      product += complex(moving[n]) * std::conj(complex(still[n]));
      energy += std::norm(complex(still[n]));
    }
    return product / energy;
  };
  const complex begin = gain_at(0), middle = gain_at(kFrameNoma / 2), end = gain_at(kFrameNoma - 2048);
  EXPECT_GT(std::abs(end - begin), 0.05);            // half a turn of the scattered part in a frame
  EXPECT_LT(std::abs(gain_at(2048) - begin), 0.05);  // steadily
  EXPECT_GT(std::abs(middle - 0.5 * (begin + end)), 1e-4);
  EXPECT_LT(std::abs(gain_at(3 * kFrameNoma + kFrameNoma - 2048) - begin), 0.03);  // back again
}

TEST(SimNoma, UsersMayMoveAtDifferentSpeeds) {
  const auto hear = [](const std::string& users) {
    return hear_noma("rx=2,level=-20,period=2,start=0,users=2," + users, 2 * kFrameNoma, 1);
  };
  EXPECT_EQ(hear("doppler=200"), hear("doppler=200/200")) << "one speed is that of all";
  const std::string first = "powers=0/-200,", second = "powers=-200/0,";
  EXPECT_EQ(hear(first + "doppler=0/200"), hear(first + "doppler=0"));
  EXPECT_EQ(hear(second + "doppler=0/200"), hear(second + "doppler=200"));
  EXPECT_NE(hear(first + "doppler=200/0"), hear(first + "doppler=0"));
}

TEST(SimNoma, BothFormatsGiveTheSame) {
  const std::string args = "pace=false,scenario=noma,rx=2,users=2,period=1,snr=0";
  const Samples x = hear_noma("rx=2,users=2,period=1,snr=0", kFrameNoma + 3000, 1, 777);
  Radio radio(args, kRateNoma, {1}, "CS16");
  radio.start();
  std::vector<std::uint32_t> part;
  for (std::size_t n = 0; n < x.size();) {
    const int got = radio.read_once(&part, std::min<std::size_t>(1000, x.size() - n));
    ASSERT_GT(got, 0);
    for (int i = 0; i < got; ++i, ++n) {
      const std::uint32_t both = part[static_cast<std::size_t>(i)];
      const auto re = static_cast<std::int16_t>(both & 0xffff), im = static_cast<std::int16_t>(both >> 16);
      ASSERT_EQ(x[n], cf32(static_cast<float>(re) / 32768, static_cast<float>(im) / 32768)) << n;
    }
  }
}

TEST(SimNoma, WhatIsWrongIsRefusedByName) {
  for (const std::string bad : {"array=linear", "users=0",
                                "users=33",     "modulation=8psk",
                                "payload=prbs", "spread=-1",
                                "jitter=400",   "radius=-1",
                                "powers=0/1",   "powers=0/0/0/0/0/loud",
                                "delay=0/1",    "delay=3000",
                                "delay=-1",     "echo=0/0",
                                "offset=1/2/3", "modulation=qpsk/qpsk",
                                "doppler=-1",   "code=turbo",
                                "doppler=0/1",  "doppler=0/0/0/0/0/2000",
                                "motion=fast",  "period=0",
                                "start=-1",     "snr=good"}) {
    try {
      Radio radio("scenario=noma,rx=4," + bad, kRateNoma);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::exception& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(bad.substr(0, bad.find('=')) + "=")) << bad;
    }
  }
}

}  // namespace
}  // namespace iqd::sim
