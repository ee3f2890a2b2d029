// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Words with a marker before them and a pseudo-random sequence over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "tests/support/coding_items.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ldpc_decoder {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t kFramed = 4, kWordBits = 1280, kMarkerBits = 64, kFrameBits = kMarkerBits + kWordBits;
constexpr const char* kBareKeys = "code: irig_1024_4_5, iterations: 20";

/// LLRs of words as the code has them; half of the words are decoded.
std::vector<float> bare_llrs() {
  const WordEncoder encoder(whole_code(*find_ldpc_code("irig_1024_4_5")));
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.57f);
  std::vector<float> llr;
  for (std::size_t w = 0; w < kFramed; ++w) {
    std::vector<std::uint8_t> bits(1024);
    for (auto& b : bits) b = static_cast<std::uint8_t>(random() & 1);
    for (const std::uint8_t bit : encoder.encoded(bits)) llr.push_back((bit != 0 ? -1.0f : 1.0f) + normal(random));
  }
  return llr;
}

/// The same as they are received, `rest` more behind them.
std::vector<float> framed_llrs(const std::vector<float>& bare, std::size_t rest = 0) {
  constexpr WordSequence kSequence;
  std::vector<float> llr;
  for (std::size_t w = 0; w < kFramed; ++w) {
    for (std::size_t i = 0; i < kMarkerBits; ++i) llr.push_back(static_cast<float>(i) - 20);
    for (std::size_t i = 0; i < kWordBits; ++i)
      llr.push_back(kSequence.at(static_cast<int>(i)) ? -bare[w * kWordBits + i] : bare[w * kWordBits + i]);
  }
  llr.insert(llr.end(), rest, 0.5f);
  return llr;
}

std::vector<StageOutput> decode_framed(const std::vector<float>& llr, std::size_t item, const std::string& more) {
  static const StageEntry stage = entry();
  return coding::outputs_of(stage, {coding::items_of(llr, {{"n", static_cast<std::int64_t>(item)}})}, 0,
                            std::string("{") + kBareKeys + more + "}");
}

constexpr const char* kFramedKeys = ", asm: irig, randomize: ccsds";

TEST(LdpcFramedWords, AreDecodedLikeBareOnes) {
  const std::vector<float> bare = bare_llrs();
  const auto expected = decode_framed(bare, kWordBits, ""),
             is = decode_framed(framed_llrs(bare), kFrameBits, kFramedKeys);
  for (const std::size_t port : {kBits, kIterations, kTally, kFailedWords, kLlrOut})
    EXPECT_EQ(is[port].joined(), expected[port].joined()) << port;
  const auto failed = coding::all_of<std::int64_t>(is[kTally])[kFailed];
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, static_cast<std::int64_t>(kFramed));
}

TEST(LdpcFramedWords, SoftOutputsHaveTheSignsOfTheInput) {
  const std::vector<float> bare = bare_llrs();
  const auto framed = framed_llrs(bare, 7);
  const auto expected = decode_framed(bare, kWordBits * kFramed, ""),
             is = decode_framed(framed, kFrameBits * kFramed + 7, kFramedKeys);
  EXPECT_EQ(is[kBits].joined(), expected[kBits].joined());
  for (const std::size_t port : {kPosterior, kExtrinsic}) {
    auto wanted = framed_llrs(coding::all_of<float>(expected[port]), 7);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (i % kFrameBits < kMarkerBits || i >= kFrameBits * kFramed) wanted[i] = port == kPosterior ? framed[i] : 0;
    EXPECT_EQ(coding::all_of<float>(is[port]), wanted) << port;
  }
}

TEST(LdpcFramedWords, MarkerAndSequenceAreChosenApart) {
  const std::vector<float> bare = bare_llrs();
  const auto expected = coding::all_of<std::uint8_t>(decode_framed(bare, kWordBits, "")[kBits]);
  std::vector<float> marked;
  for (std::size_t w = 0; w < kFramed; ++w) {
    marked.insert(marked.end(), 12, 3.0f);
    marked.insert(marked.end(), bare.begin() + static_cast<std::ptrdiff_t>(w * kWordBits),
                  bare.begin() + static_cast<std::ptrdiff_t>((w + 1) * kWordBits));
  }
  EXPECT_EQ(coding::all_of<std::uint8_t>(decode_framed(marked, kWordBits + 12, ", asm: 0xABC")[kBits]), expected);
  std::vector<float> inverted(bare.size());
  std::ranges::transform(bare, inverted.begin(), [](float x) { return -x; });
  EXPECT_THAT(coding::all_of<std::uint8_t>(decode_framed(inverted, kWordBits, ", randomize: ccsds")[kFailedWords]),
              Each(1));
}

TEST(LdpcFramedWords, ACodeWithAKernelOfItsOwnMayBeRandomized) {
  static const StageEntry stage = entry();
  constexpr WordSequence kSequence;
  std::vector<float> llr;
  for (int i = 0; i < 2304; ++i) llr.push_back(kSequence.at(i) ? -2.0f : 2.0f);  // zeros
  const auto is = coding::outputs_of(stage, {coding::items_of(llr, {{"n", 2304}})}, 0, "{randomize: ccsds}");
  EXPECT_THAT(coding::all_of<std::uint8_t>(is[kBits]), Each(0));
  EXPECT_EQ(coding::all_of<std::int64_t>(is[kTally]), (std::vector<std::int64_t>{1, 0}));
}

TEST(LdpcFramedWords, WhatDoesNotFitIsRefused) {
  PortShape in = entry().inputs[0].example_shape(Element::f32, 3);
  in.item = {{"n", 6400}};
  testing::StageUnderTest fits(entry(), "{code: irig_4096_2_3, asm: irig}", {in});
  EXPECT_EQ(fits.out(kBits).text(), "u8 [word up to 3][bit 4096]");
  const auto complaints = [&](const char* keys) { return testing::StageUnderTest(entry(), keys, {in}).complaints(); };
  EXPECT_THAT(complaints("{code: irig_4096_2_3, asm: 0xABCDE0, interleave: frame}"),
              HasSubstr("asm: words that are interleaved have no marker"));
  EXPECT_THAT(complaints("{asm: irig}"), HasSubstr("asm: 'irig' needs a code irig_"));
  EXPECT_THAT(complaints("{code: irig_4096_1_2, asm: irig}"), HasSubstr("needs items of at least 8448 LLRs"));
  EXPECT_THAT(complaints("{randomize: irig}"), HasSubstr("randomize"));
}

}  // namespace
}  // namespace iqd::ldpc_decoder
