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
#include <utility>
#include <vector>

#include "signal/channels/fading_channel.hpp"
#include "signal/codes/word_code.hpp"
#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"
#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using complex = std::complex<double>;

constexpr double kRateMimo = 7.68e6;
constexpr std::int64_t kFrameMimo = 7680;
constexpr std::size_t kStartMimo = 1001;

Samples hear_mimo(const std::string& args, std::size_t samples, std::size_t channel = 0, std::size_t piece = 16384,
                  double rate = kRateMimo) {
  return hear("scenario=mimo," + args, rate, samples, piece, channel);
}

/// [antenna][sample] of frame number `frame`, each antenna of power 1.
std::vector<Samples> sent_mimo(const OfdmFormat& format, const AntennaBits& modulation,
                               const std::optional<WordCode>& code, int order, std::int64_t frame) {
  const OfdmFrameMaker maker(format, modulation);
  const OfdmFrameBits payload(format.bits(modulation), code, order);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(payload.bits()));
  std::vector<std::byte> scratch(std::max(maker.scratch_bytes(), payload.scratch_bytes()));
  std::vector<Samples> x(static_cast<std::size_t>(format.tx), Samples(static_cast<std::size_t>(format.frame)));
  std::vector<cf32*> rows;
  for (Samples& row : x) rows.push_back(row.data());
  payload.make(frame, bits, scratch.data());
  maker.make(bits, rows, scratch.data());
  return x;
}

TEST(SimMimo, AnAntennaSendsTheFramesOfTheFormat) {
  const Samples x =
      hear_mimo("tx=1,rx=1,fading=none,level=-6,payload=pn15,modulation=64qam", kStartMimo + 2 * kFrameMimo);
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto frame = sent_mimo({.tx = 1}, AntennaBits(Modulation::qam64, 1), std::nullopt, 15, i);
    const auto expected = [&](std::size_t n) { return std::pow(10, -6.0 / 20) * complex(frame[0][n]); };
    EXPECT_LT(largest_error(x, kStartMimo + static_cast<std::size_t>(i * kFrameMimo), kFrameMimo, expected), 1e-5) << i;
  }
}

TEST(SimMimo, FramesHaveMidambles) {
  const std::string args = "tx=2,rx=1,fading=none,level=0,start=0,midambles=3";
  const auto frame = sent_mimo({.tx = 2, .midambles = 3}, AntennaBits(Modulation::qam16, 2), std::nullopt, 23, 1);
  const Samples x = hear_mimo(args, 2 * kFrameMimo);
  const auto expected = [&](std::size_t n) { return (complex(frame[0][n]) + complex(frame[1][n])) / std::sqrt(2); };
  EXPECT_LT(largest_error(x, kFrameMimo, kFrameMimo, expected), 1e-5);
}

TEST(SimMimo, AntennasMayDiffer) {
  const Samples x = hear_mimo("tx=2,rx=2,fading=none,level=0,start=0,modulation=64qam/qpsk", kFrameMimo);
  const auto bits = AntennaBits::of_words(std::vector<std::string>{"64qam", "qpsk"}, 2);
  ASSERT_TRUE(bits);
  const auto frame = sent_mimo({.tx = 2}, *bits, std::nullopt, 23, 0);
  const auto expected = [&](std::size_t n) { return (complex(frame[0][n]) + complex(frame[1][n])) / std::sqrt(2); };
  EXPECT_LT(largest_error(x, 0, kFrameMimo, expected), 1e-5);
}

TEST(SimMimo, WithoutFadingTheSecondChannelHearsTheDifferenceOfTwoAntennas) {
  const std::string args = "tx=2,rx=2,fading=none,level=0,code=80216e_2304_1_2,start=0";
  const auto frame =
      sent_mimo({.tx = 2}, AntennaBits(Modulation::qam16, 2), whole_code(*find_ldpc_code("80216e_2304_1_2")), 23, 0);
  for (const std::size_t channel : {0u, 1u}) {
    const auto expected = [&](std::size_t n) {
      return (complex(frame[0][n]) + (channel == 0 ? 1.0 : -1.0) * complex(frame[1][n])) / std::sqrt(2);
    };
    const Samples x = hear_mimo(args, kFrameMimo, channel);
    EXPECT_LT(largest_error(x, 0, kFrameMimo, expected), 1e-5);
    EXPECT_NEAR(power_db(x), 0, 0.3);
  }
}

TEST(SimMimo, FramesCarryWordsOfNr) {
  const std::string args = "tx=1,rx=1,fading=none,level=0,start=0,modulation=qpsk";
  for (const auto& [keys, code] :
       {std::pair(",nr_k=1000,nr_e=2100,nr_rv=1,crc=24a", nr_code_of({.k = 1000, .e = 2100, .rv = 1}, WordCrc::crc24a)),
        {",code=nr_bg2_z20", whole_code(*find_ldpc_code("nr_bg2_z20"))}}) {
    const auto frame = sent_mimo({.tx = 1}, AntennaBits(Modulation::qpsk, 1), code, 23, 0);
    const Samples x = hear_mimo(args + keys, kFrameMimo);
    EXPECT_LT(largest_error(x, 0, kFrameMimo, [&](std::size_t n) { return complex(frame[0][n]); }), 1e-5) << keys;
  }
}

TEST(SimMimo, TheLargeFormatHasOtherNumbers) {
  const OfdmFormat format{.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 1};
  const auto frame = sent_mimo(format, AntennaBits(Modulation::qpsk, format.tx), std::nullopt, 23, 0);
  const Samples x = hear_mimo("format=20mhz,tx=1,rx=1,fading=none,level=0,modulation=qpsk,start=0,period=1", 30720);
  EXPECT_LT(largest_error(x, 0, 30720, [&](std::size_t n) { return complex(frame[0][n]); }), 1e-5);
}

TEST(SimMimo, EchoesComeAsTheDrawsOfTheFrameSay) {
  // 0.3 us are 2.304 samples.
  const Samples x = hear_mimo("tx=2,rx=2,delay_spread=3e-7,taps=6,level=0,start=7680,seed=5", 3 * kFrameMimo, 1);
  const FadingChannel channel(
      {.rx = 2, .tx = 2, .powers = exponential_profile(2.304, 6), .block = kFrameMimo, .seed = 5});
  const auto first = sent_mimo({.tx = 2}, AntennaBits(Modulation::qam16, 2), std::nullopt, 23, 0);
  const auto second = sent_mimo({.tx = 2}, AntennaBits(Modulation::qam16, 2), std::nullopt, 23, 1);
  const auto expected = [&](std::size_t n) {
    complex sum = 0;
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t d = 0; d < 6; ++d)
        sum += channel.gain(1, static_cast<std::int64_t>(t), static_cast<std::int64_t>(d), kFrameMimo) *
               complex(n >= d ? second[t][n - d] : first[t][kFrameMimo + n - d]) / std::sqrt(2);
    return sum;
  };
  EXPECT_LT(largest_error(x, 2 * kFrameMimo, kFrameMimo, expected), 2e-5);
}

TEST(SimMimo, APeriodComesAgain) {
  for (const std::string fading : {"none", "block", "doppler,doppler=50"}) {
    const Samples x = hear_mimo("tx=2,rx=1,delay_spread=1e-7,period=2,fading=" + fading, 5 * kFrameMimo);
    EXPECT_TRUE(std::equal(x.begin(), x.begin() + 3 * kFrameMimo, x.begin() + 2 * kFrameMimo)) << fading;
    EXPECT_NE(x[kStartMimo + 5000], x[kStartMimo + kFrameMimo + 5000]) << fading;
  }
}

TEST(SimMimo, NoiseIsThatOfTheCarriers) {
  const std::string args = "tx=2,rx=2,level=-30,offset=1000,levels=0/-40";
  for (const std::size_t channel : {0u, 1u}) {
    const Samples clean = hear_mimo(args, 20 * kFrameMimo, channel);
    Samples noise = hear_mimo(args + ",snr=12", 20 * kFrameMimo, channel);
    for (std::size_t n = 0; n < noise.size(); ++n) noise[n] -= clean[n];
    EXPECT_NEAR(power_db(noise), -30 - 12 + 10 * std::log10(512.0 / 300) - (channel == 0 ? 0 : 40), 0.05);
  }
}

TEST(SimMimo, ChannelsMayDifferInLevel) {
  const std::string args = "tx=2,rx=2,seed=3,offset=1e4";
  const Samples x = hear_mimo(args, kFrameMimo, 1), weak = hear_mimo(args + ",levels=10/-40", kFrameMimo, 1);
  EXPECT_LT(largest_error(weak, 0, kFrameMimo, [&](std::size_t n) { return 0.01 * complex(x[n]); }), 1e-8);
}

TEST(SimMimo, TheCarrierIsOffByAsMuchAsIsSaid) {
  const std::string args = "tx=2,rx=1,level=0,period=1";
  const Samples x = hear_mimo(args, 3 * kFrameMimo), turned = hear_mimo(args + ",offset=-12345", 3 * kFrameMimo);
  const auto expected = [&](std::size_t n) {
    return complex(x[n]) * std::polar(1.0, -2 * std::numbers::pi * 12345 / kRateMimo * static_cast<double>(n));
  };
  EXPECT_LT(largest_error(turned, 0, 3 * kFrameMimo, expected), 2e-5);
}

TEST(SimMimo, AToneIsAddedBesideTheCarriers) {
  const std::string args = "tx=2,rx=2,level=-30,period=1";
  const Samples x = hear_mimo(args, 3 * kFrameMimo, 1);
  Samples tone = hear_mimo(args + ",tone=607500,tone_db=30", 3 * kFrameMimo, 1);
  for (std::size_t n = 0; n < x.size(); ++n) tone[n] -= x[n];
  EXPECT_NEAR(power_db(tone), -30 + 30 - 10 * std::log10(300.0), 0.05);
  const auto expected = [&](std::size_t n) {
    return complex(tone[0]) * std::polar(1.0, 2 * std::numbers::pi * 607500 / kRateMimo * static_cast<double>(n));
  };
  EXPECT_LT(largest_error(tone, 0, tone.size(), expected), 1e-5);
}

TEST(SimMimo, SeveralTonesAddUp) {
  const std::string args = "tx=2,rx=2,level=-30,period=1";
  const Samples first = hear_mimo(args + ",tone=607500,tone_db=30", 8000, 1);
  const auto second_of = [&](const std::string& tones) {
    Samples second = hear_mimo(args + tones, 8000, 1);
    for (std::size_t n = 0; n < second.size(); ++n) second[n] -= first[n];
    return second;
  };
  const Samples second = second_of(",tone=607500/-1e6,tone_db=30/10");
  EXPECT_NEAR(power_db(second), -30 + 10 - 10 * std::log10(300.0), 0.05);
  const auto expected = [&](std::size_t n) {
    return complex(second[0]) * std::polar(1.0, -2 * std::numbers::pi * 1e6 / kRateMimo * static_cast<double>(n));
  };
  EXPECT_LT(largest_error(second, 0, second.size(), expected), 1e-5);
  EXPECT_NEAR(power_db(second_of(",tone=607500/-1e6,tone_db=30")), -10 * std::log10(300.0), 0.05) << "that of all";
}

TEST(SimMimo, AntennasMayMoveAtDifferentSpeeds) {
  const auto hear = [](const std::string& doppler) {
    return hear_mimo("tx=2,rx=1,level=0,period=4,fading=doppler,doppler=" + doppler, 4 * kFrameMimo);
  };
  const Samples both = hear("100/100"), first = hear("100/0"), second = hear("0/100"), none = hear("0");
  EXPECT_EQ(hear("100"), both) << "one speed is that of all";
  EXPECT_GT(largest_error(first, 0, first.size(), [&](std::size_t n) { return complex(none[n]); }), 0.5);
  EXPECT_GT(largest_error(first, 0, first.size(), [&](std::size_t n) { return complex(second[n]); }), 0.5);
  // Each antenna adds its own.
  const auto sum = [&](std::size_t n) { return complex(first[n]) + complex(second[n]) - complex(none[n]); };
  EXPECT_LT(largest_error(both, 0, both.size(), sum), 2e-5);
}

TEST(SimMimo, AnInterfererIsInTheBandAndFromOneDirection) {
  const std::string args = "tx=2,rx=2,level=-30,period=4,fading=none";
  std::vector<Samples> other;
  for (const std::size_t channel : {0u, 1u}) {
    const Samples x = hear_mimo(args, 4 * kFrameMimo, channel);
    other.push_back(hear_mimo(args + ",interferer=6", 4 * kFrameMimo, channel));
    for (std::size_t n = 0; n < x.size(); ++n) other.back()[n] -= x[n];
    EXPECT_NEAR(power_db(other.back()), -30 + 6, 2.5);  // echoes add up in the middle of the band
  }
  complex cross = 0;
  double power = 0;
  for (std::size_t n = 0; n < other[0].size(); ++n) {
    cross += std::conj(complex(other[0][n])) * complex(other[1][n]);
    power += std::norm(complex(other[0][n]));
  }
  EXPECT_GT(std::abs(cross) / power, 0.95);
}

TEST(SimMimo, ProfilesReachAsFarAsTheirLastEcho) {
  const auto sent = sent_mimo({.tx = 1}, AntennaBits(Modulation::qam16, 1), std::nullopt, 23, 0);
  const auto taps_with = [&](const std::string& profile) {
    const Samples x = hear_mimo("tx=1,rx=1,level=0,start=0,period=1,fading=none,profile=" + profile, 2 * kFrameMimo);
    return [&sent, x](std::int64_t delay) {
      complex sum = 0;
      double power = 0;
      for (std::int64_t n = 0; n < kFrameMimo; ++n) {
        const complex s(sent[0][static_cast<std::size_t>(n)]);
        sum += std::conj(s) * complex(x[static_cast<std::size_t>(n + delay)]);
        power += std::norm(s);
      }
      return std::abs(sum) / power;
    };
  };
  // The same waves, heard without echoes, then with those of the profile: the last is 16.9 dB below the first.
  const auto vehicles = taps_with("eva"), pedestrians = taps_with("epa"), town = taps_with("etu");
  EXPECT_GT(vehicles(0), 0.5);
  EXPECT_NEAR(vehicles(19) / vehicles(0), std::pow(10, -16.9 / 20) / std::sqrt(1 + std::pow(10, -0.15)), 0.06);
  EXPECT_LT(vehicles(26), 0.06);
  EXPECT_GT(pedestrians(0), 0.5);
  EXPECT_LT(pedestrians(12), 0.06);
  EXPECT_NEAR(town(38) / town(12), std::pow(10, -4.0 / 20), 0.1);  // -7 dB and -3 dB, far from all others
  EXPECT_LT(town(45), 0.06);
}

TEST(SimMimo, SignalDependsOnPositionsAlone) {
  const std::string args = "tx=2,rx=2,snr=9,offset=-3e5,delay_spread=2e-7,period=2,fading=doppler,doppler=30";
  const Samples whole = hear_mimo(args, 40000);
  for (const std::size_t piece : {1u, 777u}) {
    const Samples cut = hear_mimo(args, piece == 1 ? 3000 : 40000, 0, piece);
    EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin())) << piece;
  }
  EXPECT_NE(hear_mimo(args + ",seed=2", 100), Samples(whole.begin(), whole.begin() + 100));
}

TEST(SimMimo, WhatIsWrongIsRefusedByName) {
  for (const std::string bad : {"format=10mhz",
                                "modulation=8psk",
                                "modulation=qpsk/qpsk/qpsk",
                                "modulation=silent",
                                "code=turbo",
                                "payload=prbs",
                                "fading=rice",
                                "doppler=-1",
                                "doppler=0/1",
                                "doppler=0/1/-1/0",
                                "taps=0",
                                "delay_spread=1",
                                "profile=etb",
                                "interferer=loud",
                                "tone=high",
                                "tone=1e5/high",
                                "tone_db=1/2",
                                "midambles=5",
                                "period=0",
                                "levels=0/1/2",
                                "levels=0/loud/0/0",
                                "start=-1",
                                "tx=9",
                                "snr=good"}) {
    try {
      Radio radio("scenario=mimo,rx=4," + bad, kRateMimo);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::exception& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(bad.substr(0, bad.find('=')) + "=")) << bad;
    }
  }
}

}  // namespace
}  // namespace iqd::sim
