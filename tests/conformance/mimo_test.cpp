// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// MIMO detectors on transmitted symbols: CUDA against the CPU, and erasure of what cannot be detected.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "signal/formats/qam.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

struct MimoCase {
  std::string_view stage;
  std::string keys;
  Modulation modulation;
  int rx, tx;
  double snr_db;
  std::int64_t of_channel = 1;  // vectors with the same channel
  bool prior = false;
  std::vector<int> sent = {};  // bits of each antenna's points, if they differ; `modulation` is the largest then
  bool by_port = false;

  int bits_at(int t) const { return sent.empty() ? bits_of(modulation) : sent[static_cast<std::size_t>(t)]; }
};

void PrintTo(const MimoCase& c, std::ostream* out) {
  *out << c.stage << ' ' << c.keys << ' ' << c.tx << 'x' << c.rx << ", " << c.of_channel << " a channel"
       << (c.prior ? ", prior" : "");
}

struct MimoHeard {
  std::vector<cf32> y, h;
  std::vector<float> noise;
  std::vector<std::uint8_t> bits;
  std::vector<float> prior;  // as a decoder gives it: some of it wrong
};

MimoHeard symbols_through(const MimoCase& c, std::int64_t vectors) {
  std::mt19937 generator(11);
  std::normal_distribution<float> normal(0, std::sqrt(0.5F));
  const float noise = static_cast<float>(c.tx * std::pow(10, -c.snr_db / 10));
  const auto complex_normal = [&] { return cf32(normal(generator), normal(generator)); };
  MimoHeard heard;
  heard.noise = {noise};
  for (std::int64_t v = 0; v < vectors; ++v) {
    if (v % c.of_channel == 0)
      for (int i = 0; i < c.rx * c.tx; ++i) heard.h.push_back(complex_normal());
    std::vector<cf32> s;
    for (int t = 0; t < c.tx; ++t) {
      const int axis = c.bits_at(t) / 2;
      const float unit = axis == 0 ? 0 : 1 / std::sqrt(static_cast<float>(qam::power(axis)));
      const auto re = static_cast<unsigned>(generator() % (1u << axis)),
                 im = static_cast<unsigned>(generator() % (1u << axis));
      s.emplace_back(unit * static_cast<float>(qam::amplitude(axis, re)),
                     unit * static_cast<float>(qam::amplitude(axis, im)));
      for (int b = 2 * axis - 1; b >= 2 * axis - bits_of(c.modulation); --b)
        heard.bits.push_back(b < 0 ? 0 : static_cast<std::uint8_t>(qam::weave(axis, re, im) >> b & 1));
    }
    const cf32* const h = heard.h.data() + heard.h.size() - static_cast<std::size_t>(c.rx * c.tx);
    for (int r = 0; r < c.rx; ++r) {
      cf32 y = std::sqrt(noise) * complex_normal();
      for (int t = 0; t < c.tx; ++t) y += h[r * c.tx + t] * s[static_cast<std::size_t>(t)];
      heard.y.push_back(y);
    }
  }
  std::normal_distribution<float> strength(3, 2.4F);
  for (const std::uint8_t bit : heard.bits) heard.prior.push_back(bit ? -strength(generator) : strength(generator));
  return heard;
}

Ports detect_mimo(const MimoCase& c, const MimoHeard& heard, const std::string& backend) {
  std::vector<StageInput> inputs{items(heard.y, Element::cf32, "vector", {{"rx", c.rx}}),
                                 items(heard.h, Element::cf32, "group", {{"rx", c.rx}, {"tx", c.tx}}),
                                 items(heard.noise, Element::f32, "group", {})};
  if (c.prior)
    inputs.push_back(items(heard.prior, Element::f32, "vector", {{"tx", c.tx}, {"bit", bits_of(c.modulation)}}));
  if (c.by_port) {
    std::vector<std::uint8_t> sent;
    for (std::int64_t i = 0; i < std::ssize(heard.y) / c.rx * c.tx; ++i)
      sent.push_back(static_cast<std::uint8_t>(c.bits_at(static_cast<int>(i % c.tx))));
    inputs.push_back(items(sent, Element::u8, "vector", {{"tx", c.tx}}));
    inputs.back().name = "modulation";
  }
  return run(c.stage, c.keys, inputs, backend);
}

/// The same symbols as frames of carriers with several symbols each.
/// Without a prior.
Ports detect_frames(const MimoCase& c, const MimoHeard& heard, std::int64_t frames, const std::string& backend) {
  const std::int64_t groups = std::ssize(heard.h) / (c.rx * c.tx) / frames;
  return run(c.stage, c.keys,
             {items(heard.y, Element::cf32, "frame", {{"carrier", groups}, {"symbol", c.of_channel}, {"rx", c.rx}}),
              items(heard.h, Element::cf32, "frame", {{"carrier", groups}, {"rx", c.rx}, {"tx", c.tx}}),
              items(std::vector<float>(static_cast<std::size_t>(frames), heard.noise[0]), Element::f32, "frame", {})},
             backend, 2);
}

/// Either backend may choose among survivors that are nearly equally good, so LLRs differ now and then. `few`: LLRs of
/// such a choice; with 256-QAM there is one in some 10^5 LLRs, so that a short input may have one.
void expect_alike(const Ports& cpu, const Ports& cuda, double few = 0) {
  const std::vector<double> a = numbers_in(cpu.at("llr").shape.element, cpu.at("llr").joined());
  const std::vector<double> b = numbers_in(cuda.at("llr").shape.element, cuda.at("llr").joined());
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  const double unit = cpu.at("llr").shape.element == Element::i8 ? 1 : 1e-3;  // one quantization step
  std::size_t apart = 0, turned = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += std::fabs(a[i] - b[i]) > unit * std::max(1.0, std::fabs(a[i]));
    turned += a[i] * b[i] < 0 && std::fabs(a[i]) > 10 * unit;
  }
  EXPECT_LE(static_cast<double>(apart), 2e-4 * static_cast<double>(a.size()) + few);
  EXPECT_LE(static_cast<double>(turned), 1e-4 * static_cast<double>(a.size()) + few / 4);
  const auto bits = values<std::uint8_t>(cpu.at("bits")), other = values<std::uint8_t>(cuda.at("bits"));
  std::size_t differ = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) differ += bits[i] != other[i];
  EXPECT_LE(static_cast<double>(differ), 2e-4 * static_cast<double>(bits.size()) + few / 4);
  const auto d = values<float>(cpu.at("distance")), e = values<float>(cuda.at("distance"));
  std::size_t far = 0;
  for (std::size_t i = 0; i < d.size(); ++i) far += !(std::fabs(d[i] - e[i]) <= 1e-3F * std::max(1e-3F, d[i]));
  EXPECT_LE(static_cast<double>(far), 1e-3 * static_cast<double>(d.size()));
  EXPECT_EQ(values<std::int64_t>(cpu.at("events")), values<std::int64_t>(cuda.at("events")));
}

std::vector<MimoCase> mimo_cases() {
  using enum Modulation;
  std::vector<MimoCase> all;
  for (const std::string_view stage : {"mtt_detector", "kbest_detector", "one_pass_detector", "lmmse_detector"})
    for (const auto& [modulation, snr] : {std::pair{qpsk, 8.0}, {qam16, 15.0}, {qam64, 21.0}})
      for (const auto& [rx, tx] : {std::pair{2, 2}, {4, 4}, {4, 2}, {8, 4}, {3, 3}, {1, 1}}) {
        const std::string name(enum_names(modulation)[static_cast<std::size_t>(modulation)]);
        all.push_back({stage, fmt::format("{{modulation: {}}}", name), modulation, rx, tx, snr, tx == 2 ? 12 : 1});
      }
  for (const std::string_view stage : {"mtt_detector", "kbest_detector", "one_pass_detector", "lmmse_detector"})
    for (const auto& [modulation, snr] : {std::pair{qpsk, 6.0}, {qam16, 12.0}, {qam64, 18.0}})
      for (const auto& [rx, tx] : {std::pair{2, 2}, {4, 4}, {8, 4}, {3, 3}, {8, 8}}) {
        const std::string name(enum_names(modulation)[static_cast<std::size_t>(modulation)]);
        all.push_back({stage, fmt::format("{{modulation: {}}}", name), modulation, rx, tx, snr, 3, true});
      }
  for (const char* keys : {"lists: pooled", "extrinsic: false", "llr: i8"})
    all.push_back({"mtt_detector", fmt::format("{{modulation: 16qam, {}}}", keys), qam16, 4, 4, 12, 3, true});
  for (const std::string_view stage : {"mtt_detector", "kbest_detector", "one_pass_detector", "lmmse_detector"})
    for (const bool prior : {false, true}) {
      all.push_back({stage, "{modulation: [16qam, 16qam, qpsk, qpsk]}", qam16, 4, 4, 14, 3, prior, {4, 4, 2, 2}});
      all.push_back({stage, "{modulation: [qpsk, 64qam]}", qam64, 2, 2, 18, 1, prior, {2, 6}});
      all.push_back({stage, "{modulation: [64qam, silent, 16qam]}", qam64, 5, 3, 18, 1, prior, {6, 0, 4}});
      all.push_back({stage,
                     "{modulation: [qpsk, 16qam, silent, 16qam, qpsk, qpsk], max_modulation: 64qam}",
                     qam64,
                     8,
                     6,
                     18,
                     3,
                     prior,
                     {2, 4, 0, 4, 2, 2}});
      const char* const by_port = "{modulation: port, max_modulation: 64qam, llr: f16}";
      all.push_back({stage, by_port, qam64, 4, 4, 18, 1, prior, {6, 2, 0, 4}, true});
    }
  all.push_back({"mtt_detector",
                 "{modulation: [16qam, qpsk, qpsk, 16qam], lists: pooled, llr: i8}",
                 qam16,
                 4,
                 4,
                 14,
                 3,
                 false,
                 {4, 2, 2, 4}});
  for (const std::string_view stage : {"mtt_detector", "lmmse_detector"})
    for (const Modulation modulation : {qpsk, qam16})
      all.push_back({stage,
                     fmt::format("{{modulation: {}}}", enum_names(modulation)[static_cast<std::size_t>(modulation)]),
                     modulation, 8, 8, 14, 4});
  for (const char* keys : {"lists: pooled", "variant: paper", "llr: i8", "llr: f16", "llr: i8, llr_scale: 0.1"})
    for (const auto& [modulation, snr] : {std::pair{qpsk, 8.0}, {qam16, 15.0}, {qam64, 21.0}})
      for (const int antennas : {2, 4})
        all.push_back(
            {"mtt_detector",
             fmt::format("{{modulation: {}, {}}}", enum_names(modulation)[static_cast<std::size_t>(modulation)], keys),
             modulation, antennas, antennas, snr, 3});
  for (const auto& [rx, tx] : {std::pair{2, 2}, {4, 4}, {4, 2}, {3, 3}, {8, 4}, {1, 1}, {5, 5}, {8, 8}})
    for (const bool prior : {false, true})
      for (const char* keys : {"", ", lists: pooled", ", variant: paper", ", lists: pooled, variant: paper"})
        all.push_back({"mtt_detector", fmt::format("{{modulation: 256qam{}}}", keys), qam256, rx, tx,
                       prior ? 24.0 : 28.0, tx == 2 ? 12 : 1, prior});
  for (const char* keys : {"llr: i8", "llr: f16", "extrinsic: false"})
    all.push_back({"mtt_detector", fmt::format("{{modulation: 256qam, {}}}", keys), qam256, 4, 4, 24, 3, true});
  return all;
}

double few_llrs(const MimoCase& c) {
  return c.modulation == Modulation::qam256 ? 8 : 0;
}

class DetectorOnCuda : public ::testing::TestWithParam<MimoCase> {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO DETECTOR WAS TESTED ON CUDA: " << why;
  }
};

TEST_P(DetectorOnCuda, AgreesWithTheCpu) {
  for (const std::int64_t channels : {1, 31, 700}) {
    const MimoHeard heard = symbols_through(GetParam(), channels * GetParam().of_channel);
    expect_alike(detect_mimo(GetParam(), heard, "cpu"), detect_mimo(GetParam(), heard, "cuda"), few_llrs(GetParam()));
  }
}

TEST_P(DetectorOnCuda, FramesAgreeToo) {
  if (GetParam().by_port) GTEST_SKIP() << "frames are tested without the input `modulation`";
  const MimoHeard heard = symbols_through(GetParam(), 5 * 37 * GetParam().of_channel);
  expect_alike(detect_frames(GetParam(), heard, 5, "cpu"), detect_frames(GetParam(), heard, 5, "cuda"),
               few_llrs(GetParam()));
}

/// More than a GPU detects at a time, so that thread blocks take several tiles; the last tile is not full.
TEST(MttOnCuda, ManyVectorsAgreeWithTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO DETECTOR WAS TESTED ON CUDA: " << why;
  using enum Modulation;
  for (const auto& [modulation, keys] : {std::pair{qpsk, "{modulation: qpsk}"}, {qam16, "{modulation: 16qam}"}})
    for (const int of_channel : {1, 12}) {
      const MimoCase c{"mtt_detector", keys, modulation, 4, 4, 12, of_channel};
      const MimoHeard heard = symbols_through(c, 300'036);
      expect_alike(detect_mimo(c, heard, "cpu"), detect_mimo(c, heard, "cuda"));
    }
}

/// What cannot be detected is erased; its neighbours are unaffected.
TEST_P(DetectorOnCuda, ErasesTheSame) {
  MimoCase c = GetParam();
  c.of_channel = 1;
  MimoHeard heard = symbols_through(c, 200);
  const auto row = [&](std::size_t v) { return v * static_cast<std::size_t>(c.rx); };
  const auto matrix = [&](std::size_t v) { return v * static_cast<std::size_t>(c.rx * c.tx); };
  heard.y[row(3)] = {NAN, 0};
  heard.h[matrix(7)] = {0, INFINITY};
  for (int i = 0; i < c.rx * c.tx; ++i) heard.h[matrix(11) + static_cast<std::size_t>(i)] = 0;
  for (int r = 0; r < c.rx; ++r)  // all columns equal
    for (int t = 1; t < c.tx; ++t)
      heard.h[matrix(20) + static_cast<std::size_t>(r * c.tx + t)] =
          heard.h[matrix(20) + static_cast<std::size_t>(r * c.tx)];
  for (int i = 0; i < c.rx * c.tx; ++i) heard.h[matrix(33) + static_cast<std::size_t>(i)] *= 1e18F;
  for (int i = 0; i < c.rx * c.tx; ++i) heard.h[matrix(34) + static_cast<std::size_t>(i)] *= 1e-18F;
  heard.noise.assign(200, heard.noise[0]);
  heard.noise[50] = 0;
  heard.noise[51] = -1;
  heard.noise[52] = INFINITY;
  heard.noise[53] = NAN;
  heard.noise[54] = 1e-6F;
  const Ports cpu = detect_mimo(c, heard, "cpu"), cuda = detect_mimo(c, heard, "cuda");
  EXPECT_EQ(values<std::int64_t>(cuda.at("events")), values<std::int64_t>(cpu.at("events")));
  const auto a = numbers_in(cpu.at("llr").shape.element, cpu.at("llr").joined());
  const auto b = numbers_in(cuda.at("llr").shape.element, cuda.at("llr").joined());
  const std::size_t of_vector = a.size() / 200;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::isfinite(b[i])) << "vector " << i / of_vector;
    // Almost all symbols are equally likely: rounding decides. So it does where h is so large that x is 0.
    if (i / of_vector == 20 || (c.prior && i / of_vector == 33)) continue;
    EXPECT_EQ(a[i] == 0, b[i] == 0) << "vector " << i / of_vector << ": " << a[i] << ", " << b[i];
  }
}

std::string mimo_case_name(const ::testing::TestParamInfo<MimoCase>& info) {
  std::string name =
      fmt::format("{}_{}x{}_{}_{}", info.param.stage, info.param.tx, info.param.rx, info.param.keys, info.index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Mimo, DetectorOnCuda, ::testing::ValuesIn(mimo_cases()), mimo_case_name);

}  // namespace
}  // namespace iqd::conformance
