// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "base/files/npy.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/packet_payload.hpp"
#include "signal/formats/soqpsk.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using Reference = std::vector<std::complex<double>>;

constexpr double kRateTelemetry = 20.625e6;
constexpr std::size_t kPacket = 12672;
constexpr std::size_t kStartTelemetry = 20;  // samples at the start that still contain the previous packet

Samples hear_telemetry(const std::string& args, std::size_t samples, std::size_t piece = 16384) {
  return hear("scenario=telemetry," + args, kRateTelemetry, samples, piece);
}

/// Bits of b(n) = b(n - tap) ^ b(n - order), starting with ones.
std::vector<std::uint8_t> sequence(std::size_t order, std::size_t tap, std::size_t count) {
  std::vector<std::uint8_t> b(count, 1);
  for (std::size_t n = order; n < count; ++n) b[n] = b[n - tap] ^ b[n - order];
  return b;
}

/// Packets with these payload bits, in sequence.
std::vector<std::uint8_t> frames(std::span<const std::uint8_t> payload, std::size_t payload_bits = 6144) {
  const PacketFormat format;
  const auto pilot = format.pilot();
  std::vector<std::uint8_t> bits;
  for (; !payload.empty(); payload = payload.subspan(payload_bits)) {
    bits.insert(bits.end(), pilot.begin(), pilot.end());
    bits.insert(bits.end(), payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(payload_bits));
  }
  return bits;
}

Reference transmitted(std::size_t packets) {
  return soqpsk::modulate(frames(sequence(15, 14, packets * 6144)), 2);
}

double worst_telemetry(std::span<const cf32> x, std::span<const std::complex<double>> expected) {
  double most = 0;
  for (std::size_t n = 0; n < x.size(); ++n) most = std::max(most, std::abs(std::complex<double>(x[n]) - expected[n]));
  return most;
}

TEST(SimTelemetry, PacketsAreThoseOfTheSequence) {
  const Samples x = hear_telemetry("level=0", 2 * kPacket);
  const Reference expected = transmitted(3);
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 1e-5);
}

TEST(SimTelemetry, PacketsMayCarryWordsOfACode) {
  const Samples x = hear_telemetry("level=0,code=irig_1024_2_3,randomize=ccsds,asm=irig,payload_bits=3200", 6 * 3392);
  const WordCode code = whole_code(*find_ldpc_code("irig_1024_2_3"));
  const PacketPayload payload(3200, code, FrameChoice{.marker = "irig", .randomize = Randomize::ccsds}.frame(code.code),
                              15);
  std::vector<std::uint8_t> bits(4 * 3200), scratch(payload.scratch_bytes());
  for (std::size_t p = 0; p < 4; ++p)
    payload.make(static_cast<std::int64_t>(p), std::span(bits).subspan(p * 3200, 3200), scratch);
  const Reference expected = soqpsk::modulate(frames(bits, 3200), 2);
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 1e-5);
}

TEST(SimTelemetry, PayloadsMayComeFromAFile) {
  const ScratchFolder folder;
  const std::string path = folder / "payload";
  std::string bytes;
  for (int i = 0; i < 1001; ++i) bytes.push_back(static_cast<char>(i * i * 37 + i));
  std::ofstream(path, std::ios::binary) << bytes;
  std::vector<std::uint8_t> bits;
  for (std::size_t k = 0; k < 3 * std::size_t{6144}; ++k)
    bits.push_back(static_cast<std::uint8_t>(bytes[k / 8 % bytes.size()] >> (7 - k % 8) & 1));
  const Samples x = hear_telemetry("level=0,payload=@" + path, 2 * kPacket);
  const Reference expected = soqpsk::modulate(frames(bits), 2);
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 1e-5);
  std::ofstream(folder / "empty").flush();
  for (const std::string& bad : {folder / "empty", folder / "none", folder / "."})
    EXPECT_THROW(Radio("scenario=telemetry,payload=@" + bad), std::exception) << bad;
}

TEST(SimTelemetry, BetweenPacketsThereMayBeSilence) {
  const Samples x = hear_telemetry("level=-6,gap=1001,payload=pn9", 2 * (kPacket + 1001));
  const auto payload = sequence(9, 5, 2 * 6144);
  for (std::size_t p = 0; p < 2; ++p) {
    Reference alone = soqpsk::modulate(frames(std::span(payload).subspan(p * 6144, 6144)), 2);
    for (auto& v : alone) v *= std::pow(10, -6.0 / 20);
    alone.resize(kPacket + 1001);
    EXPECT_LT(worst_telemetry(std::span(x).subspan(p * alone.size(), alone.size()), alone), 1e-5) << p;
  }
}

TEST(SimTelemetry, ChannelsKeepThePower) {
  for (const std::string channel : {"awgn", "ch1", "ch2", "ch3", "ch4"})
    EXPECT_NEAR(power_db(hear_telemetry("level=-10,channel=" + channel, 10 * kPacket)), -10, 0.15) << channel;
}

TEST(SimTelemetry, TapsMayComeFromAFile) {
  const ScratchFolder folder;
  const std::string path = folder / "taps.npy";
  const std::array<std::complex<float>, 3> taps{{{1, 0}, {0, 0}, {0, 0.5f}}};
  const std::array<std::int64_t, 1> shape{3};
  write_npy(path, "<c8", shape, std::as_bytes(std::span(taps)));
  const Samples x = hear_telemetry("level=0,channel=" + path, kPacket);
  Reference expected = transmitted(2);
  double power = 0;
  for (std::size_t n = expected.size() - 1; n >= 2; --n) {
    expected[n] += std::complex<double>(0, 0.5) * expected[n - 2];
    power += std::norm(expected[n]);
  }
  const double scale = std::sqrt(static_cast<double>(expected.size()) / power);
  for (auto& v : expected) v *= scale;
  // The scenario's scale comes from the signal's spectrum, here from two packets.
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 0.03);
}

TEST(SimTelemetry, TheSecondRayMayTurn) {
  const ScratchFolder folder;
  const std::string path = folder / "taps.npy";
  const std::array<std::complex<float>, 3> taps{{{1, 0}, {0, 0}, {0, 0.5f}}};
  const std::array<std::int64_t, 1> shape{3};
  write_npy(path, "<c8", shape, std::as_bytes(std::span(taps)));
  const Samples x = hear_telemetry("level=0,ray_hz=-1500,channel=" + path, 2 * kPacket);
  const Reference sent = transmitted(3);
  Reference expected = sent;
  for (std::size_t n = 2; n < x.size(); ++n) {
    const double turn = -2 * std::numbers::pi * 1500 / kRateTelemetry * static_cast<double>(n);
    expected[n] = (sent[n] + 0.5 * sent[n - 2] * std::polar(1.0, turn + std::numbers::pi / 2)) / std::sqrt(1.25);
  }
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 1e-3);
}

TEST(SimTelemetry, NoiseIsAsStrongAsEbN0Says) {
  const std::string args = "level=-20,channel=ch2,offset=1000";
  const Samples clean = hear_telemetry(args, 40 * kPacket);
  Samples noise = hear_telemetry(args + ",ebn0=12", 40 * kPacket);
  for (std::size_t n = 0; n < noise.size(); ++n) noise[n] -= clean[n];
  EXPECT_NEAR(power_db(noise), -20 - 12 + 10 * std::log10(2), 0.05);
}

TEST(SimTelemetry, TheCarrierIsOffByAsMuchAsIsSaid) {
  const Samples x = hear_telemetry("level=0,offset=-200000", kPacket);
  Reference expected = transmitted(2);
  for (std::size_t n = 0; n < x.size(); ++n)
    expected[n] *= std::polar(1.0, -2 * std::numbers::pi * 200e3 / kRateTelemetry * static_cast<double>(n));
  EXPECT_LT(worst_telemetry(std::span(x).subspan(kStartTelemetry), std::span(expected).subspan(kStartTelemetry)), 1e-5);
}

TEST(SimTelemetry, AClockThatIsTooFastIsAheadMoreAndMore) {
  const Reference expected = transmitted(3);
  for (const int ppm : {1000, -1000}) {
    const Samples x = hear_telemetry("level=0,ppm=" + std::to_string(ppm), 2 * kPacket);
    for (std::size_t k = 1; k < 25; ++k)
      EXPECT_LT(std::abs(std::complex<double>(x[1000 * k]) - expected[(ppm > 0 ? 1001 : 999) * k]), 1e-4) << k;
    // Half a sample ahead or behind: between two samples of a smooth signal.
    const auto between = (expected[500 + (ppm > 0)] + expected[499 + (ppm > 0)]) / 2.0;
    EXPECT_LT(std::abs(std::complex<double>(x[500]) - between), 0.1);
  }
}

TEST(SimTelemetry, FadingGivesEachPacketAGainOfItsOwn) {
  constexpr std::size_t kPackets = 150;
  const Samples x = hear_telemetry("level=-20,fading=3", kPackets * kPacket);
  double sum = 0, squares = 0;
  for (std::size_t p = 0; p < kPackets; ++p) {
    const auto packet = std::span(x).subspan(p * kPacket, kPacket);
    const double db = power_db(packet);
    EXPECT_NEAR(20 * std::log10(std::abs(packet[kPacket / 2])), db, 0.01) << p;
    sum += db;
    squares += db * db;
  }
  const double mean = sum / kPackets;
  // Of 150: four standard deviations of the mean and of the deviation.
  EXPECT_NEAR(mean, -20, 1);
  EXPECT_NEAR(std::sqrt(squares / kPackets - mean * mean), 3, 0.7);
}

TEST(SimTelemetry, SignalDependsOnPositionsAlone) {
  for (const std::string args : {"ppm=37,channel=ch2,ebn0=9,fading=4,offset=-3e5,gap=77", "payload=pn23,channel=ch4",
                                 "channel=ch3,ray_hz=1000,ppm=-5"}) {
    const Samples whole = hear_telemetry(args, 40000);
    for (const std::size_t piece : {1u, 777u}) {
      const Samples cut = hear_telemetry(args, piece == 1 ? 3000 : 40000, piece);
      EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin())) << piece;
    }
  }
}

TEST(SimTelemetry, WhatIsWrongIsRefusedByName) {
  for (const std::string bad :
       {"channel=ch5", "channel=/nowhere.npy", "payload=prbs", "gap=-1", "gap=0.5", "ppm=5000", "fading=-1",
        "ebn0=loud", "offset=far", "payload_bits=101", "code=turbo", "randomize=on,code=irig_1024_2_3",
        "asm=irig,code=80216e_2304_1_2", "payload_bits=6000,code=irig_4096_2_3", "ray_hz=1e6", "ray_hz=5"}) {
    try {
      Radio radio("scenario=telemetry," + bad);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::exception& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(bad.substr(0, bad.find('=')))) << bad;
    }
  }
}

}  // namespace
}  // namespace iqd::sim
