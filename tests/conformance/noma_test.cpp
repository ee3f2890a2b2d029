// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Multi-user detectors on transmitted symbols: CUDA against the CPU, and decisions against the sent bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "signal/formats/symbol_map.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

struct NomaCase {
  std::string_view stage;
  std::string keys;
  SymbolMap map;
  int antennas, users;
  int pilots = 200;
  int data = 150;
  int frames = 2;
  double snr_db = 25;
};

void PrintTo(const NomaCase& c, std::ostream* out) {
  *out << c.stage << ' ' << c.keys << ' ' << c.antennas << 'x' << c.users << ", " << c.pilots << " pilots";
}

struct NomaHeard {
  std::vector<cf32> train_rx, train_tx, rx, h, start;
  std::vector<float> noise;
  std::vector<std::uint8_t> bits;  // [frame][user][t][bit]
};

/// Each user's rays come from other directions, so enough antennas separate the users well.
NomaHeard frames_of(const NomaCase& c) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal(0, std::sqrt(0.5F));
  const auto complex_normal = [&] { return cf32(normal(generator), normal(generator)); };
  const auto m_count = static_cast<std::size_t>(c.antennas), u_count = static_cast<std::size_t>(c.users);
  const auto amplitude = static_cast<float>(std::pow(10, -c.snr_db / 20));
  NomaHeard heard;
  heard.h.resize(m_count * u_count);
  for (cf32& h : heard.h) h = complex_normal();
  heard.noise = {amplitude * amplitude};
  for (std::size_t u = 0; u < u_count; ++u)
    for (std::size_t m = 0; m < m_count; ++m)
      heard.start.push_back(heard.h[m * u_count + u] / static_cast<float>(c.antennas));
  const int bits = bits_of(c.map);
  const auto receive = [&](std::span<const cf32> sent, std::vector<cf32>& to) {
    for (std::size_t m = 0; m < m_count; ++m) {
      cf32 y = amplitude * complex_normal();
      for (std::size_t u = 0; u < u_count; ++u) y += heard.h[m * u_count + u] * sent[u];
      to.push_back(y);
    }
  };
  for (int f = 0; f < c.frames; ++f) {
    std::vector<cf32> sent(u_count);
    for (int t = 0; t < c.pilots; ++t) {
      for (cf32& b : sent) b = point_of(c.map, static_cast<unsigned>(generator() % (1u << bits)));
      heard.train_tx.insert(heard.train_tx.end(), sent.begin(), sent.end());
      receive(sent, heard.train_rx);
    }
    const std::size_t first = heard.bits.size();
    const auto of_user = static_cast<std::size_t>(c.data * bits);
    heard.bits.resize(first + u_count * of_user);
    for (int t = 0; t < c.data; ++t) {
      for (std::size_t u = 0; u < u_count; ++u) {
        const auto number = static_cast<unsigned>(generator() % (1u << bits));
        sent[u] = point_of(c.map, number);
        for (int b = 0; b < bits; ++b)
          heard.bits[first + u * of_user + static_cast<std::size_t>(t * bits + b)] =
              static_cast<std::uint8_t>(number >> (bits - 1 - b) & 1);
      }
      receive(sent, heard.rx);
    }
  }
  return heard;
}

Ports detect_noma(const NomaCase& c, const NomaHeard& heard, const std::string& backend, std::int64_t block = 0) {
  const Dim antenna{"antenna", c.antennas}, user{"user", c.users};
  std::vector<StageInput> inputs{items(heard.train_rx, Element::cf32, "frame", {{"t", c.pilots}, antenna}),
                                 items(heard.train_tx, Element::cf32, "frame", {{"t", c.pilots}, user}),
                                 items(heard.rx, Element::cf32, "frame", {{"t", c.data}, antenna})};
  if (c.stage == "genie_detector") {
    inputs.push_back(items(heard.h, Element::cf32, "group", {antenna, user}));
    inputs.push_back(items(heard.noise, Element::f32, "group", {}));
  } else if (c.keys.find("start: port") != c.keys.npos) {
    inputs.push_back(items(heard.start, Element::cf32, "group", {user, antenna}));
  }
  return run(c.stage, c.keys, std::move(inputs), backend, block);
}

double error_rate(const Ports& ports, const NomaHeard& heard) {
  const auto bits = values<std::uint8_t>(ports.at("bits"));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < heard.bits.size(); ++i) wrong += bits.at(i) != heard.bits[i];
  return static_cast<double>(wrong) / static_cast<double>(heard.bits.size());
}

double far_apart(const Ports& a, const Ports& b, const std::string& port) {
  double worst = 0;
  const auto x = numbers_in(a.at(port).shape.element, a.at(port).joined());
  const auto y = numbers_in(b.at(port).shape.element, b.at(port).joined());
  EXPECT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    worst = std::max(worst, x[i] == y[i] ? 0 : std::fabs(x[i] - y[i]));
  return worst;
}

std::vector<NomaCase> noma_cases() {
  using enum SymbolMap;
  std::vector<NomaCase> all{
      {"lls_detector", "{modulation: 16qam}", qam16, 16, 6},
      {"genie_detector", "{modulation: 64qam, llr: f16}", qam64, 16, 6},
      {"apsm_detector", "{modulation: 16qam}", qam16, 16, 6},
      {"apsm_detector", "{modulation: qpsk}", qpsk, 16, 6, 685, 3840, 1},
      {"apsm_detector", "{modulation: qpsk, llr: i8, antennas: [0, 3, 4, 9, 15]}", qpsk, 16, 6},
      {"apsm_detector", "{modulation: qpsk, start: zero, passes: 3}", qpsk, 5, 6},
      {"apsm_detector", "{modulation: qpsk, start: zero, kernel_scale: M2, agc: off}", qpsk, 8, 3},
      {"apsm_detector", "{modulation: qpsk, start: zero, weights: [1, 0]}", qpsk, 8, 3},
      {"apsm_detector", "{modulation: qpsk, start: zero, weights: [0, 1], passes: 2}", qpsk, 4, 2},
      {"apsm_detector", "{modulation: qpsk, start: port}", qpsk, 16, 6},
      {"apsm_detector", "{modulation: bpsk, window: 1}", bpsk, 2, 3},
      {"apsm_detector", "{modulation: 256qam, window: 64, window_weights: [3, 2, 1]}", qam256, 64, 8, 300, 40},
      {"apsm_detector", "{modulation: qpsk, window: 256, dictionary: 100}", qpsk, 16, 6, 300},
      {"apsm_detector", "{modulation: qpsk}", qpsk, 33, 32, 257, 65},
      {"apsm_detector", "{modulation: qpsk}", qpsk, 3, 7, 3, 5},
      {"apsm_detector", "{modulation: qpsk}", qpsk, 3, 1, 1, 1, 3},
      {"apsm_detector", "{modulation: 16qam, mode: online, start: zero}", qam16, 16, 6, 100, 50, 6},
      {"apsm_detector", "{modulation: 16qam, mode: online, dictionary: 250}", qam16, 16, 6, 100, 50, 6},
  };
  return all;
}

class NomaOnCuda : public ::testing::TestWithParam<NomaCase> {};

TEST_P(NomaOnCuda, AgreesWithTheCpu) {
  if (!no_cuda().empty()) GTEST_SKIP() << no_cuda();
  const NomaHeard heard = frames_of(GetParam());
  const Ports cpu = detect_noma(GetParam(), heard, "cpu", 2), cuda = detect_noma(GetParam(), heard, "cuda", 2);
  EXPECT_LE(far_apart(cpu, cuda, "symbols"), 1e-3);
  EXPECT_LE(far_apart(cpu, cuda, "linear"), 1e-3);
  EXPECT_LE(far_apart(cpu, cuda, "gamma"), 1e-3);
  EXPECT_LE(far_apart(cpu, cuda, "model"), 2e-3);
  EXPECT_NEAR(error_rate(cpu, heard), error_rate(cuda, heard), 1e-3);
  EXPECT_EQ(values<std::int64_t>(cpu.at("events")), values<std::int64_t>(cuda.at("events")));
}

TEST_P(NomaOnCuda, PublishedVariantsGiveTheSame) {
  if (!no_cuda().empty()) GTEST_SKIP() << no_cuda();
  NomaCase c = GetParam();
  if (c.stage != "apsm_detector") GTEST_SKIP() << "is linear";
  const NomaHeard heard = frames_of(c);
  const Ports own = detect_noma(c, heard, "cuda");
  for (const std::string variant : {"one", "several", "slices", "balanced"}) {
    NomaCase other = c;
    other.keys.insert(other.keys.size() - 1, fmt::format(", variant: {}", variant));
    EXPECT_LE(far_apart(own, detect_noma(other, heard, "cuda"), "symbols"), 1e-4) << variant;
  }
}
INSTANTIATE_TEST_SUITE_P(Methods, NomaOnCuda, ::testing::ValuesIn(noma_cases()));

TEST(Noma, WithMoreAntennasThanUsersDecisionsAreRight) {
  for (const std::string_view keys :
       {"{modulation: 16qam}", "{modulation: 16qam, start: port}", "{modulation: 16qam, mode: online}"}) {
    const NomaCase c{"apsm_detector", std::string(keys), SymbolMap::qam16, 16, 6, 685, 300, 2, 30};
    const NomaHeard heard = frames_of(c);
    EXPECT_LE(error_rate(detect_noma(c, heard, "cpu"), heard), 2e-3) << keys;
  }
}

TEST(Noma, TheLevelOfTheSignalDoesNotMatter) {
  const NomaCase c{"apsm_detector", "{modulation: 16qam}", SymbolMap::qam16, 8, 4, 150, 200, 1, 20};
  NomaHeard heard = frames_of(c);
  const auto bits = values<std::uint8_t>(detect_noma(c, heard, "cpu").at("bits"));
  for (const float gain : {1e-3F, 1e3F}) {
    NomaHeard other = heard;
    for (auto* samples : {&other.train_rx, &other.rx})
      for (cf32& x : *samples) x *= gain;
    EXPECT_EQ(values<std::uint8_t>(detect_noma(c, other, "cpu").at("bits")), bits) << gain;
  }
}

/// LLRs must state the error rate: the mean of 1 / (1 + exp |llr|) over the bits is the share of wrong bits.
TEST(Noma, LlrsSayHowOftenTheyAreWrong) {
  const NomaCase c{"apsm_detector", "{modulation: qpsk}", SymbolMap::qpsk, 8, 6, 685, 3000, 4, 0};
  const NomaHeard heard = frames_of(c);
  const Ports ports = detect_noma(c, heard, "cpu");
  const auto llr = values<float>(ports.at("llr"));
  double expected = 0;
  for (const float l : llr) expected += 1 / (1 + std::exp(std::fabs(static_cast<double>(l))));
  expected /= static_cast<double>(llr.size());
  const double rate = error_rate(ports, heard);
  EXPECT_GT(rate, 0.003);
  EXPECT_NEAR(std::log(expected / rate), 0, std::log(1.5));
}

}  // namespace
}  // namespace iqd::conformance
