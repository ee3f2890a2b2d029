// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/ldpc_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

namespace iqd {
namespace {

std::vector<std::uint8_t> word_of(const LdpcCode& code, unsigned seed) {
  const LdpcEncoder encoder(code);
  std::mt19937 random(seed);
  std::vector<std::uint8_t> word(encoder.bytes(), 7);
  for (int i = 0; i < code.k(); ++i) word[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random() & 1);
  encoder.encode(word);
  return word;
}

/// Core and further rows with odd shifts. No row of the core has one unknown block, and one block has two circulants,
/// as the codes of telemetry have.
constexpr LdpcEntry kOddEntries[] = {
    {0, 0, 3}, {0, 2, 5}, {0, 3, 1}, {1, 1, 6}, {1, 2, 0}, {1, 2, 2},
    {1, 3, 3}, {2, 0, 2}, {2, 1, 1}, {2, 3, 4}, {2, 4, 5},
};
constexpr LdpcCode kOdd{.name = "odd",
                        .lift = 7,
                        .rows = 3,
                        .columns = 5,
                        .core = 2,
                        .hidden_first = 3,
                        .hidden = 1,
                        .entries = kOddEntries};

TEST(LdpcEncoder, WordsFulfilTheChecks) {
  for (const LdpcCode& code : ldpc_codes())
    for (const unsigned seed : {1u, 2u, 3u}) EXPECT_TRUE(ldpc_valid(code, word_of(code, seed)));
}

TEST(LdpcEncoder, AnyInvertibleCoreServes) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    auto word = word_of(kOdd, seed);
    EXPECT_TRUE(ldpc_valid(kOdd, word));
    word[20] ^= 1;
    EXPECT_FALSE(ldpc_valid(kOdd, word));
  }
}

TEST(LdpcEncoder, MostBlocksFollowFromARow) {
  // Only the first parity block takes the inverse, and each entry is added once.
  const LdpcCode& code = ldpc_codes()[0];
  const LdpcEncoder encoder(code);
  EXPECT_EQ(encoder.steps().size(), 24u);
  EXPECT_LE(encoder.terms().size(), code.entries.size() + 12);
}

TEST(LdpcEncoder, RefusesWhatDoesNotDetermineTheParity) {
  const LdpcEntry same[] = {{0, 0, 1}, {0, 1, 0}, {0, 2, 3}, {1, 0, 2}, {1, 1, 0}, {1, 2, 3}};
  EXPECT_THROW(LdpcEncoder({.name = "singular", .lift = 5, .rows = 2, .columns = 3, .core = 2, .entries = same}),
               std::invalid_argument);
  const LdpcEntry late[] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 2}, {1, 1, 0}};
  EXPECT_THROW(LdpcEncoder({.name = "late", .lift = 5, .rows = 2, .columns = 3, .core = 1, .entries = late}),
               std::invalid_argument);
}

}  // namespace
}  // namespace iqd
