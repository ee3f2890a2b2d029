// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Noisy LDPC words, decodable and not: CUDA against the CPU, bit by bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/conformance/one_stage.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kK = 1152, kN = 2304;

template <class T> StageInput ldpc_items(const std::vector<T>& values, std::vector<Dim> item) {
  StageInput in;
  in.shape.element = element_of<T>;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "word";
  in.shape.item = std::move(item);
  in.length = std::ssize(values) / in.shape.item_size();
  in.shape.most = std::max<std::int64_t>(in.length, 1);
  const auto bytes = std::as_bytes(std::span(values));
  in.data.assign(bytes.begin(), bytes.end());
  return in;
}

Ports encode(std::int64_t words, const std::string& backend) {
  std::mt19937 generator(1);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(words * kK));
  for (auto& b : bits) b = static_cast<std::uint8_t>(generator());
  return run("ldpc_encoder", "{}", {ldpc_items(bits, {{"k", kK}})}, backend, 5);
}

/// BPSK at an Eb/N0 at which half of the words are decoded.
std::vector<float> noisy(const std::vector<std::uint8_t>& words) {
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  std::vector<float> llr;
  for (const std::uint8_t bit : words) llr.push_back(2 * ((bit ? -1.0f : 1.0f) / 0.76f + normal(generator) / 0.87f));
  return llr;
}

void expect_same(const StageInput& llr, const std::string& keys, std::int64_t block,
                 const std::vector<StageInput>& others = {}) {
  std::vector<StageInput> inputs{llr};
  inputs.insert(inputs.end(), others.begin(), others.end());
  const Ports cpu = run("ldpc_decoder", keys, inputs, "cpu", block);
  const Ports cuda = run("ldpc_decoder", keys, inputs, "cuda", block);
  for (const char* port : {"bits", "iterations", "events", "posterior", "extrinsic", "failed"})
    EXPECT_EQ(cpu.at(port).joined(), cuda.at(port).joined()) << port << " " << keys << " " << block;
}

TEST(LdpcOnCuda, WordsAreEncodedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO LDPC WORDS WERE TESTED ON CUDA: " << why;
  for (const std::int64_t words : {1, 5, 33})
    EXPECT_EQ(encode(words, "cpu").at("words").joined(), encode(words, "cuda").at("words").joined());
}

TEST(LdpcOnCuda, WordsAreDecodedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO LDPC WORDS WERE TESTED ON CUDA: " << why;
  const auto llr = noisy(values<std::uint8_t>(encode(66, "cpu").at("words")));
  std::vector<f16> half;
  std::vector<std::int8_t> whole;
  for (const float x : llr) {
    half.push_back(to_f16(x));
    whole.push_back(static_cast<std::int8_t>(std::clamp(std::rint(8 * x), -127.0f, 127.0f)));
  }
  const auto events =
      values<std::int64_t>(run("ldpc_decoder", "{}", {ldpc_items(llr, {{"n", kN}})}, "cpu").at("events"));
  EXPECT_GT(events[1], 10) << "failed";
  EXPECT_LT(events[1], 56) << "failed";
  for (const char* keys : {"{}", "{early_stop: false}", "{iterations: 1}", "{iterations: 40, scale: 0.8}"})
    for (const std::int64_t block : {0, 1, 7}) {
      expect_same(ldpc_items(llr, {{"n", kN}}), keys, block);
      expect_same(ldpc_items(half, {{"n", kN}}), keys, block);
      expect_same(ldpc_items(whole, {{"n", kN}}), keys, block);
    }
  // Frames of six words, and a few surplus LLRs.
  for (const char* keys : {"{interleave: frame}", "{interleave: off}"})
    for (const std::int64_t block : {0, 3}) {
      expect_same(ldpc_items(llr, {{"carrier", kN / 2}, {"bit", 12}}), keys, block);
      expect_same(ldpc_items(whole, {{"symbol", 2}, {"bit", 3 * kN}}), keys, block);
    }
  // Antennas that differ, in frames of up to six words; by the port each frame has others.
  const std::vector<Dim> antennas{{"carrier", kN / 4}, {"symbol", 2}, {"tx", 3}, {"bit", 4}};
  std::vector<std::uint8_t> sent;
  for (std::size_t i = 0; i < 33; ++i) sent.push_back(static_cast<std::uint8_t>(i % 7 * 2 % 6));
  for (const std::int64_t block : {0, 3})
    for (const char* code : {"", ", nr: {k: 1000, e: 1500}, crc: 16"}) {
      const auto keys = fmt::format("{{interleave: frame{}", code);
      expect_same(ldpc_items(llr, antennas), keys + ", modulation: [16qam, qpsk, silent]}", block);
      expect_same(ldpc_items(whole, antennas), keys + ", modulation: [qpsk, qpsk, 16qam]}", block);
      expect_same(ldpc_items(llr, antennas), keys + "}", block, {ldpc_items(sent, {{"tx", 3}})});
    }
  std::vector<float> odd(llr.begin(), llr.begin() + 10 * (6 * kN + 5));
  expect_same(ldpc_items(odd, {{"n", 6 * kN + 5}}), "{interleave: frame}", 4);
  for (std::size_t i = 0; i < odd.size(); i += 11)
    odd[i] = i % 2 ? NAN : i % 4 ? 0.0f : std::copysign(INFINITY, odd[i]);
  expect_same(ldpc_items(odd, {{"n", 6 * kN + 5}}), "{}", 4);
}

/// Of NR: shorter and longer than a chunk of the CPU, filler, repetition, all rows and few, all versions, a CRC.
struct NrCase {
  int k, e;
  std::string keys;  // of nr
  std::string crc;
  double snr_db;  // of a bit that is sent; some words are lost
};

std::vector<NrCase> nr_cases() {
  return {{8448, 16896, "", "none", 1.2},   {8448, 16896, "", "24b", 1.1},
          {8000, 24400, "", "none", -1.3},  {1144, 1500, ", bit_interleaver: 6", "none", 4.3},
          {300, 660, "", "16", 0.5},        {500, 3000, ", rv: 2, bit_interleaver: 4", "24a", -3.8},
          {60, 900, ", rv: 3", "none", -8}, {40, 100, "", "none", 0},
          {12, 40, "", "none", -1}};
}

/// Encodes and decodes words of `k` information bits that are sent as `n`, with these keys of encoder and decoder.
void expect_same_words(const std::string& choice, std::int64_t k, std::int64_t n, double snr_db, bool may_interleave) {
  SCOPED_TRACE(choice);
  std::mt19937 generator(3);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(12 * k));
  for (auto& b : bits) b = static_cast<std::uint8_t>(generator());
  const StageInput information = ldpc_items(bits, {{"k", k}});
  const auto words = run("ldpc_encoder", "{" + choice + "}", {information}, "cpu", 5).at("words").joined();
  EXPECT_EQ(run("ldpc_encoder", "{" + choice + "}", {information}, "cuda", 5).at("words").joined(), words);

  const auto variance = static_cast<float>(std::pow(10, -snr_db / 10));
  std::normal_distribution<float> normal;
  std::vector<float> llr;
  for (const std::byte bit : words)
    llr.push_back(2 / variance * ((bit != std::byte{} ? -1.0f : 1.0f) + std::sqrt(variance) * normal(generator)));
  for (const char* more : {"", ", early_stop: false", ", iterations: 3, scale: 0.8"})
    for (const std::int64_t block : {0, 5}) expect_same(ldpc_items(llr, {{"n", n}}), "{" + choice + more + "}", block);
  const char* interleave = may_interleave ? ", interleave: frame}" : "}";
  expect_same(ldpc_items(llr, {{"n", 3 * n}}), "{" + choice + interleave, 2);
  for (std::size_t i = 0; i < llr.size(); i += 23)
    llr[i] = i % 2 != 0 ? NAN : i % 4 != 0 ? 0.0f : std::copysign(INFINITY, llr[i]);
  expect_same(ldpc_items(llr, {{"n", n}}), "{" + choice + "}", 0);
}

TEST(LdpcOnCuda, WordsOfNrAreEncodedAndDecodedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO LDPC WORDS WERE TESTED ON CUDA: " << why;
  for (const NrCase& c : nr_cases())
    expect_same_words(fmt::format("nr: {{k: {}, e: {}{}}}, crc: {}", c.k, c.e, c.keys, c.crc),
                      c.k - (c.crc == "none" ? 0
                             : c.crc == "16" ? 16
                                             : 24),
                      c.e, c.snr_db, true);
}

TEST(LdpcOnCuda, WordsOfTelemetryAreEncodedAndDecodedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO LDPC WORDS WERE TESTED ON CUDA: " << why;
  struct Telemetry {
    const char* code;
    std::int64_t k, n, marker;
    double snr_db;  // of a bit that is sent; some words are lost
  };
  for (const Telemetry& c : {Telemetry{"irig_1024_1_2", 1024, 2048, 64, 1.4},
                             {"irig_1024_2_3", 1024, 1536, 64, 3.3},
                             {"irig_1024_4_5", 1024, 1280, 64, 4.95},
                             {"irig_4096_1_2", 4096, 8192, 256, 0.95},
                             {"irig_4096_2_3", 4096, 6144, 256, 3.0},
                             {"irig_4096_4_5", 4096, 5120, 256, 4.75}}) {
    expect_same_words(fmt::format("code: {}", c.code), c.k, c.n, c.snr_db, true);
    expect_same_words(fmt::format("code: {}, asm: irig, randomize: ccsds", c.code), c.k, c.marker + c.n, c.snr_db,
                      false);
  }
  // The code that has a kernel of its own, by the one for any.
  expect_same_words("asm: 0xFAF320, randomize: ccsds", kK, 24 + kN, 1.2, false);
  expect_same_words("randomize: ccsds, crc: 16", kK - 16, kN, 1.2, true);
}

TEST(LdpcOnCuda, WordsOfWholeCodesAreDecodedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO LDPC WORDS WERE TESTED ON CUDA: " << why;
  struct Whole {
    const char* code;
    std::int64_t n;
  };
  for (const Whole& c : {Whole{"nr_bg1_z2", 132},
                         {"nr_bg1_z15", 990},
                         {"nr_bg1_z384", 25344},
                         {"nr_bg2_z3", 150},
                         {"nr_bg2_z52", 2600},
                         {"nr_bg2_z384", 19200}}) {
    std::mt19937 generator(4);
    std::normal_distribution<float> normal(1.2f, 1.0f);  // words of zeros
    std::vector<float> llr(static_cast<std::size_t>(6 * c.n));
    for (float& x : llr) x = normal(generator);
    expect_same(ldpc_items(llr, {{"n", c.n}}), fmt::format("{{code: {}}}", c.code), 0);
  }
  // The code that has a kernel of its own, by the one for any.
  const auto llr = noisy(values<std::uint8_t>(encode(20, "cpu").at("words")));
  expect_same(ldpc_items(llr, {{"n", kN}}), "{crc: 16}", 0);
}

TEST(LdpcOnCuda, BitsArePackedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO BITS WERE PACKED ON CUDA: " << why;
  std::mt19937 generator(5);
  for (const std::int64_t items : {0, 1, 33})
    for (const std::int64_t size : {1, 8, 29, 1024}) {
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(items * 3 * size));
      for (auto& b : bits) b = static_cast<std::uint8_t>(generator());
      const std::vector<StageInput> in{ldpc_items(bits, {{"word", 3}, {"bit", size}})};
      for (const char* keys : {"{}", "{order: lsb}"})
        EXPECT_EQ(run("pack_bits", keys, in, "cpu", 5).at("bytes").joined(),
                  run("pack_bits", keys, in, "cuda", 5).at("bytes").joined())
            << items << " " << size << " " << keys;
    }
}

TEST(LdpcOnCuda, WordsOfASecondPassAreMergedAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO WORDS WERE MERGED ON CUDA: " << why;
  constexpr int kFrames = 300;
  std::mt19937 generator(4);
  std::vector<std::uint8_t> bits, failed, again, failed_again;
  std::vector<std::int32_t> iterations;
  for (int f = 0; f < kFrames; ++f) {
    for (int w = 0; w < 3; ++w) {
      iterations.push_back(static_cast<std::int32_t>(generator() % 4));
      failed.push_back(w == 0 || iterations.back() == 3);  // each frame has a second pass
      for (int i = 0; i < 5; ++i) bits.push_back(generator() % 2);
    }
    for (int w = 0; w < 3; ++w) {
      failed_again.push_back(generator() % 2);
      for (int i = 0; i < 5; ++i) again.push_back(generator() % 2);
    }
  }
  const std::vector<StageInput> in{ldpc_items(bits, {{"word", 3}, {"k", 5}}), ldpc_items(failed, {{"word", 3}}),
                                   ldpc_items(again, {{"word", 3}, {"k", 5}}), ldpc_items(failed_again, {{"word", 3}}),
                                   ldpc_items(iterations, {{"word", 3}})};
  const Ports cpu = run("merge_words", "{}", in, "cpu"), cuda = run("merge_words", "{}", in, "cuda");
  EXPECT_LT(values<std::int64_t>(cpu.at("events"))[0], 3 * kFrames);
  for (const auto& [name, output] : cpu) EXPECT_EQ(output.joined(), cuda.at(name).joined()) << name;
}

TEST(LdpcOnCuda, FailedFramesTakeTheirModulationAlong) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO FAILED FRAMES WERE TESTED ON CUDA: " << why;
  constexpr int kFrames = 300;
  std::mt19937 generator(3);
  std::vector<std::uint8_t> failed, sent;
  std::vector<float> llr;
  std::vector<cf32> carriers;
  for (int f = 0; f < kFrames; ++f) {
    for (int w = 0; w < 2; ++w) failed.push_back(generator() % 3 == 0);
    for (int a = 0; a < 3; ++a) sent.push_back(static_cast<std::uint8_t>(2 * (generator() % 4)));
    for (int i = 0; i < 6; ++i) llr.push_back(static_cast<float>(generator() % 1000));
    carriers.emplace_back(static_cast<float>(f), 1.0f);
  }
  const std::vector<StageInput> in{ldpc_items(failed, {{"word", 2}}), ldpc_items(carriers, {{"carrier", 1}}),
                                   ldpc_items(llr, {{"tx", 3}, {"bit", 2}}), ldpc_items(llr, {{"tx", 3}, {"bit", 2}}),
                                   ldpc_items(sent, {{"tx", 3}})};
  for (const std::int64_t block : {0, 1, 7}) {
    const Ports cpu = run("failed_frames", "{}", in, "cpu", block),
                cuda = run("failed_frames", "{}", in, "cuda", block);
    EXPECT_GT(cpu.at("modulation").joined().size(), 3u * kFrames / 3);
    for (const auto& [name, output] : cpu) EXPECT_EQ(output.joined(), cuda.at(name).joined()) << name << " " << block;
  }
}

}  // namespace
}  // namespace iqd::conformance
