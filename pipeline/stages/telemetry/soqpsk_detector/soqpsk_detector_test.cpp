// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/soqpsk_detector/soqpsk_detector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "signal/formats/soqpsk.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::soqpsk_detector {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using Bits = std::vector<std::uint8_t>;
using Symbols = std::vector<cf32>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const PacketFormat kPacket;  // iNET's
const std::int64_t kAll = kPacket.bits();
const std::int64_t kPilot = kPacket.pilot_bits();
const std::int64_t kPayload = kPacket.payload_bits;

Bits random_bits(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  Bits bits(static_cast<std::size_t>(n));
  for (auto& b : bits) b = engine() & 1;
  return bits;
}

/// The pilot, then the payload.
Bits packet_of(const Bits& payload) {
  Bits bits = kPacket.pilot();
  bits.insert(bits.end(), payload.begin(), payload.end());
  return bits;
}

struct Distortion {
  double gain = 1;
  double phase = 0;   // radians, at bit 0
  double offset = 0;  // radians a sample
  double noise = 0;   // standard deviation of each part
};

/// The signal at the eyes' centres.
Symbols symbols_of(const Bits& bits, const Distortion& d, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> noise(0, d.noise);
  const auto signal = soqpsk::modulate(bits, 2);
  Symbols y;
  for (std::size_t k = 0; k < bits.size(); ++k) {
    const double turn = d.phase + 2 * d.offset * static_cast<double>(k);
    const std::complex<double> n = d.noise > 0 ? std::complex(noise(engine), noise(engine)) : 0;
    y.emplace_back(d.gain * (std::polar(1.0, turn) * signal[2 * k] + n));
  }
  return y;
}

Setup setup_of(double bandwidth = 0.005, std::int64_t order = 2, bool differential = false) {
  Setup setup{{}, kAll, gains_of(bandwidth, order), differential};
  for (const auto b : kPacket.pilot()) setup.pilot.push_back(b ? 1.0f : -1.0f);
  return setup;
}

struct Detected {
  Bits bits;
  std::vector<float> soft;
  std::vector<float> llr;
  std::vector<std::int8_t> whole;
};
Detected detect(const Setup& setup, const Symbols& y) {
  const auto chains = std::ssize(y) / kAll;
  const auto all = static_cast<std::size_t>(chains * kAll);
  const auto payload = static_cast<std::size_t>(chains * kPayload);
  Detected d{Bits(payload, 9), std::vector<float>(all, 9), std::vector<float>(payload, 9),
             std::vector<std::int8_t>(payload, 9)};
  run_cpu(setup, y.data(), chains, {d.bits.data(), d.soft.data(), d.llr.data(), d.whole.data()});
  return d;
}

/// The README's formulas one by one, in double precision, with angles.
std::vector<double> model(const Symbols& y, double bandwidth, int order) {
  const Bits pilot = kPacket.pilot();
  const auto sign = [](bool positive) { return positive ? 1.0 : -1.0; };
  const auto along = [](std::size_t k, std::complex<double> u) { return k % 2 == 0 ? u.real() : u.imag(); };
  double amplitude = 0;
  for (std::size_t k = 8; k < pilot.size(); ++k)
    amplitude += sign(pilot[k]) * along(k, y[k]) / static_cast<double>(pilot.size() - 8);
  const double theta_n = bandwidth / 1.25;
  const double whole = 1 + 2 * theta_n + theta_n * theta_n;
  const double k1 = order == 1 ? bandwidth * 4 / (1 + 2 * bandwidth) / 4 : 4 * theta_n / whole / 2;
  const double k2 = order == 1 ? 0 : 4 * theta_n * theta_n / whole / 2;
  double theta = 0;
  double v = 0;
  std::vector<double> soft;
  for (std::size_t k = 1; k < y.size(); k += 2) {
    std::complex<double> u[2];
    double a[2];
    for (std::size_t i = 0; i < 2; ++i) {
      u[i] = std::complex<double>(y[k - 1 + i]) / amplitude * std::polar(1.0, -theta);
      soft.push_back(along(k - 1 + i, u[i]));
      a[i] = k < pilot.size() ? sign(pilot[k - 1 + i]) : sign(soft.back() >= 0);
    }
    const double e = a[0] * u[0].imag() - a[1] * u[1].real();
    theta += k1 * e + v + k2 * e;
    v += k2 * e;
  }
  return soft;
}

std::int64_t count_errors(const Bits& a, const Bits& b) {
  std::int64_t errors = 0;
  for (std::size_t i = 0; i < a.size(); ++i) errors += a[i] != b[i];
  return errors;
}

TEST(SoqpskDetector, GainsAreThosePublished) {
  const Gains second = gains_of(0.005, 2);
  EXPECT_NEAR(second.direct * (1 - second.carried), 0.0079364, 5e-8);
  EXPECT_NEAR(second.direct * second.carried, 3.1746e-5, 5e-10);
  EXPECT_NEAR(gains_of(0.002, 1).direct, 0.00199, 5e-6);
  EXPECT_EQ(gains_of(0.002, 1).carried, 0);
}

TEST(SoqpskDetector, GivesWhatTheFormulaGives) {
  const Bits bits = packet_of(random_bits(kPayload, 1));
  for (const Distortion& d : {Distortion{}, Distortion{.gain = 7e-3, .phase = 0.6, .noise = 0.3},
                              Distortion{.gain = 90, .phase = -0.4, .offset = 4e-4, .noise = 0.5}})
    for (const int order : {1, 2})
      for (const double bandwidth : {0.002, 0.005, 0.01, 0.1}) {
        const Symbols y = symbols_of(bits, d);
        const Detected is = detect(setup_of(bandwidth, order), y);
        const std::vector<double> expected = model(y, bandwidth, order);
        double sum = 0;
        for (std::size_t k = 0; k < y.size(); ++k) sum += std::pow(is.soft[k] - expected[k], 2);
        EXPECT_LT(std::sqrt(sum / static_cast<double>(kAll)), 2e-5) << order << " " << bandwidth << " " << d.offset;
        for (std::size_t k = 0; k < is.bits.size(); ++k) {
          const double soft = expected[k + static_cast<std::size_t>(kPilot)];
          ASSERT_TRUE(std::abs(soft) < 1e-3 || is.bits[k] == (soft > 0)) << k;
        }
      }
}

TEST(SoqpskDetector, TheSecondOrderFollowsAFrequency) {
  const Bits payload = random_bits(kPayload, 2);
  const auto errors = [&](double offset, double bandwidth, int order) {
    const Symbols y = symbols_of(packet_of(payload), {.offset = offset, .noise = 0.35});
    return count_errors(detect(setup_of(bandwidth, order), y).bits, payload);
  };
  const std::int64_t plain = errors(0, 0.005, 2);
  EXPECT_GT(plain, 0);
  EXPECT_LT(plain, kPayload / 20);
  EXPECT_LT(errors(5e-4, 0.005, 2), plain + plain / 5 + 10);
  EXPECT_LT(errors(1e-3, 0.01, 2), 2 * plain + 10);
  EXPECT_GT(errors(5e-4, 0.002, 1), kPayload / 10) << "the first order loses lock";
}

TEST(SoqpskDetector, HowManyChainsThereAreDoesNotMatter) {
  Symbols all;
  std::vector<Detected> alone;
  for (unsigned c = 0; c < 7; ++c) {
    const Symbols y = symbols_of(packet_of(random_bits(kPayload, c)), {.phase = 0.1 * c, .noise = 0.4}, c);
    all.insert(all.end(), y.begin(), y.end());
    alone.push_back(detect(setup_of(), y));
  }
  const Detected together = detect(setup_of(), all);
  for (std::int64_t c = 0; c < 7; ++c) {
    const Detected& one = alone[static_cast<std::size_t>(c)];
    const auto part = [c](const auto& list, std::int64_t n) {
      return std::decay_t<decltype(list)>(list.begin() + c * n, list.begin() + (c + 1) * n);
    };
    EXPECT_TRUE(same_bits(part(together.soft, kAll), one.soft)) << c;
    EXPECT_TRUE(same_bits(part(together.bits, kPayload), one.bits)) << c;
    EXPECT_TRUE(same_bits(part(together.llr, kPayload), one.llr)) << c;
  }
}

TEST(SoqpskDetector, UndoesTheDifferentialCode) {
  const Bits payload = random_bits(kPayload, 3);
  Bits sent = payload;
  soqpsk::encode_differential(sent);
  const Detected clean = detect(setup_of(0.005, 2, true), symbols_of(packet_of(sent), {}));
  EXPECT_EQ(clean.bits, payload);
  for (std::size_t k = 0; k < clean.llr.size(); ++k) ASSERT_EQ(clean.llr[k] < 0, payload[k] == 1) << k;

  const Symbols noisy = symbols_of(packet_of(sent), {.noise = 0.4});
  const Detected plain = detect(setup_of(), noisy);
  const Detected coded = detect(setup_of(0.005, 2, true), noisy);
  Bits decoded = plain.bits;
  soqpsk::decode_differential(decoded);
  EXPECT_EQ(coded.bits, decoded);
  EXPECT_TRUE(same_bits(coded.soft, plain.soft));
  EXPECT_EQ(std::abs(coded.llr[0]), std::abs(plain.llr[0]));
  for (std::size_t k = 1; k < coded.llr.size(); ++k)
    ASSERT_EQ(std::abs(coded.llr[k]), std::min(std::abs(plain.llr[k]), std::abs(plain.llr[k - 1]))) << k;
}

/// A bit whose LLR is l is wrong with probability 1 / (1 + exp |l|).
TEST(SoqpskDetector, LlrsSayHowOftenBitsAreWrong) {
  std::vector<double> expected(5);
  std::vector<double> found(5);
  std::mt19937 engine(5);
  std::normal_distribution<float> noise(0, 0.8f);
  for (unsigned c = 0; c < 12; ++c) {
    const Bits bits = packet_of(random_bits(kPayload, c));
    Symbols y;
    for (std::size_t k = 0; k < bits.size(); ++k) {
      const float a = bits[k] ? 1.0f : -1.0f;
      y.push_back((k % 2 == 0 ? cf32(a, 0) : cf32(0, a)) + cf32(noise(engine), noise(engine)));
    }
    const Detected d = detect(setup_of(0.001), y);
    for (std::size_t k = 0; k < d.llr.size(); ++k) {
      const auto bin = static_cast<std::size_t>(std::min(4.0f, std::abs(d.llr[k])));
      expected[bin] += 1 / (1 + std::exp(std::abs(d.llr[k])));
      found[bin] += (d.llr[k] < 0) != (bits[k + static_cast<std::size_t>(kPilot)] == 1);
    }
  }
  for (std::size_t bin = 0; bin < 5; ++bin) EXPECT_NEAR(found[bin], expected[bin], 0.25 * expected[bin] + 20) << bin;
}

TEST(SoqpskDetector, WholeLlrsAreRoundedQuarters) {
  const Detected d = detect(setup_of(), symbols_of(packet_of(random_bits(kPayload, 4)), {.noise = 0.3}));
  std::int64_t full = 0;
  for (std::size_t k = 0; k < d.llr.size(); ++k) {
    ASSERT_EQ(d.whole[k], std::clamp(std::round(d.llr[k] * 4), -127.0f, 127.0f)) << d.llr[k];
    full += std::abs(d.whole[k]) == 127;
  }
  EXPECT_LT(full, kPayload / 2);
}

TEST(SoqpskDetector, LlrsAreFiniteWithoutNoise) {
  const Detected d = detect(setup_of(), symbols_of(packet_of(random_bits(kPayload, 4)), {}));
  for (const float l : d.llr) ASSERT_TRUE(std::abs(l) > 5 && std::abs(l) < 1e4f) << l;
}

TEST(SoqpskDetector, ZerosAreOnesOfNoWorth) {
  for (const bool differential : {false, true}) {
    const Detected d = detect(setup_of(0.005, 2, differential), Symbols(static_cast<std::size_t>(kAll)));
    EXPECT_THAT(d.soft, Each(0.0f));
    EXPECT_THAT(d.llr, Each(0.0f));
    EXPECT_THAT(d.whole, Each(0));
    Bits expected(static_cast<std::size_t>(kPayload), 1);
    if (differential) soqpsk::decode_differential(expected);
    EXPECT_EQ(d.bits, expected);
  }
}

TEST(SoqpskDetector, WhatIsNotFiniteMarksItsChainAlone) {
  const Symbols good = symbols_of(packet_of(random_bits(kPayload, 6)), {.noise = 0.2});
  const Detected alone = detect(setup_of(), good);
  const auto all = static_cast<std::size_t>(kAll);
  const auto payload = static_cast<std::size_t>(kPayload);
  for (const int order : {1, 2})
    for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{192}, std::size_t{193}, all - 2, all - 1})
      for (const cf32 bad : {cf32(kNan, 0), cf32(1, kNan), cf32(std::numeric_limits<float>::infinity(), 0),
                             cf32(0, -std::numeric_limits<float>::infinity())}) {
        Symbols y = good;
        y[at] = bad;
        y.insert(y.end(), good.begin(), good.end());
        const Detected d = detect(setup_of(0.005, order), y);
        for (std::size_t k = 0; k < all; ++k) ASSERT_TRUE(std::isnan(d.soft[k])) << at;
        for (std::size_t k = 0; k < payload; ++k) ASSERT_TRUE(d.bits[k] == 0 && d.llr[k] == 0 && d.whole[k] == 0) << at;
        ASSERT_TRUE(std::equal(alone.bits.begin(), alone.bits.end(), d.bits.begin() + kPayload)) << at;
      }
}

TEST(SoqpskDetector, AnAmplitudeBeyondFloatMarksItsChain) {
  const Detected d = detect(setup_of(), symbols_of(packet_of(random_bits(kPayload, 7)), {.gain = 3e38}));
  for (const float soft : d.soft) ASSERT_TRUE(std::isnan(soft));
  EXPECT_THAT(d.bits, Each(0));
  EXPECT_THAT(d.llr, Each(0.0f));
}

PortShape symbols(std::int64_t bits, std::vector<std::string> kinds = {"zf", "mmse"}) {
  PortShape s;
  s.axis = Axis::counted;
  s.axis_name = "packet";
  s.most = 3;
  s.item = {{"kind", std::ssize(kinds), kinds}, {"symbol", bits}};
  return s;
}

/// One packet through the whole stage, all of its outputs read.
Detected through_stage(const std::string& yaml, const PortShape& in, Symbols y) {
  const std::unique_ptr<Stage> stage = entry().make();
  Problems problems;
  const Document document = parse_document(yaml, "test.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  std::vector<PortShape> out(3, in);
  Footprint footprint;
  ShapeContext context{.in = {&in, 1}, .out = out, .footprint = {&footprint, 1}, .section = section};
  stage->shape(context);
  EXPECT_TRUE(problems.empty());
  Detected d{Bits(static_cast<std::size_t>(out[0].item_size())),
             std::vector<float>(static_cast<std::size_t>(out[1].item_size())),
             std::vector<float>(static_cast<std::size_t>(out[2].item_size())),
             {}};
  std::int32_t counts[4] = {1, 0, 0, 0};
  const auto io = [&counts](std::size_t i, auto* data, const PortShape& shape) {
    return PortIo{.data = reinterpret_cast<std::byte*>(data),
                  .length = shape.most,
                  .item = shape.item_size(),
                  .count = &counts[i]};
  };
  const PortIo from = io(0, y.data(), in);
  const PortIo to[] = {io(1, d.bits.data(), out[0]), io(2, d.soft.data(), out[1]), io(3, d.llr.data(), out[2])};
  const auto backend = make_cpu_backend();
  stage->make(*backend)->enqueue({.in = {&from, 1}, .out = to}, {});
  EXPECT_THAT(counts, Each(1));
  return d;
}

TEST(SoqpskDetector, TheLoopIsWiderBehindOffsetsOfSinglePackets) {
  const Symbols y = symbols_of(packet_of(random_bits(kPayload, 8)), {.phase = 0.3, .noise = 0.4});
  const PortShape in = symbols(kAll, {"fde1"});
  PortShape marked = in;
  marked.marks = {"offset_of_packet"};
  const auto soft = [&](const std::string& yaml, const PortShape& shape) { return through_stage(yaml, shape, y).soft; };
  EXPECT_TRUE(same_bits(soft("{}", in), detect(setup_of(0.005), y).soft));
  EXPECT_TRUE(same_bits(soft("{}", marked), detect(setup_of(0.01), y).soft));
  EXPECT_TRUE(same_bits(soft("{loop_bandwidth: 0.02}", marked), detect(setup_of(0.02), y).soft));
  EXPECT_TRUE(same_bits(soft("{loop_order: 1}", in), detect(setup_of(0.005, 1), y).soft));
}

TEST(SoqpskDetector, OtherPackets) {
  const std::string yaml = "{preamble: A5C, repeats: 5, sync_word: 0F0F3355AA71CC04, payload_bits: 70}";
  PacketFormat format{"A5C", 5, "0F0F3355AA71CC04", 70, 2};
  ASSERT_FALSE(format.fault());
  const Bits payload = random_bits(70, 9);
  Bits bits = format.pilot();
  bits.insert(bits.end(), payload.begin(), payload.end());
  const Detected d = through_stage(yaml, symbols(format.bits(), {"fde1"}), symbols_of(bits, {.gain = 3, .phase = 0.2}));
  EXPECT_EQ(d.bits, payload);
}

TEST(SoqpskDetector, SaysWhatItMakes) {
  StageUnderTest f32(entry(), "{}", {symbols(kAll)});
  ASSERT_EQ(f32.complaints(), "");
  EXPECT_EQ(f32.out(0).text(), "u8 [packet up to 3][kind 2][bit 6144]");
  EXPECT_EQ(f32.out(1).text(), "f32 [packet up to 3][kind 2][bit 6336]");
  EXPECT_EQ(f32.out(2).text(), "f32 [packet up to 3][kind 2][bit 6144]");
  EXPECT_EQ(f32.out(2).llr_scale, 0);
  for (std::size_t o = 0; o < 3; ++o) EXPECT_THAT(f32.out(o).item[0].labels, ElementsAre("zf", "mmse"));
  StageUnderTest i8(entry(), "{llr: i8}", {symbols(kAll)});
  EXPECT_EQ(i8.out(2).text(), "i8 [packet up to 3][kind 2][bit 6144]");
  EXPECT_EQ(i8.out(2).llr_scale, 0.25);
}

TEST(SoqpskDetector, RefusesWhatCannotBe) {
  const auto complaint = [](const std::string& yaml, const PortShape& in) {
    return StageUnderTest(entry(), yaml, {in}).complaints();
  };
  EXPECT_THAT(complaint("{}", symbols(kAll - 2)), HasSubstr("packets of 6336 symbols"));
  EXPECT_THAT(complaint("{loop_order: 3}", symbols(kAll)), HasSubstr("loop_order"));
  EXPECT_THAT(complaint("{loop_bandwidth: 1}", symbols(kAll)), HasSubstr("loop_bandwidth"));
  EXPECT_THAT(complaint("{preamble: XY}", symbols(kAll)), HasSubstr("preamble"));
}

}  // namespace
}  // namespace iqd::soqpsk_detector
