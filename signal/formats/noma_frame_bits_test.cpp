// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/noma_frame_bits.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "signal/codes/ldpc_code.hpp"
#include "tests/support/pn_bits.hpp"

namespace iqd {
namespace {

using Bits = std::vector<std::uint8_t>;
using testing::pn_bits;

const std::vector<SymbolMap> kUnlike{SymbolMap::qpsk,  SymbolMap::qam16, SymbolMap::bpsk,
                                     SymbolMap::qam64, SymbolMap::qpsk,  SymbolMap::qam256};

Bits make(const NomaFrameBits& frame, std::int64_t number) {
  Bits information(static_cast<std::size_t>(frame.information())), bits(static_cast<std::size_t>(frame.bits()));
  std::vector<std::byte> scratch(frame.scratch_bytes());
  frame.payload(number, information);
  frame.encode(0, 6, information, bits, scratch.data());
  return bits;
}

TEST(NomaFrameBits, WithoutACodeTheSequenceGoesOnOverUsersAndFrames) {
  const NomaFrameBits frame({}, kUnlike, std::nullopt);
  EXPECT_EQ(frame.bits(), 3840 * (2 + 4 + 1 + 6 + 2 + 8));
  EXPECT_EQ(frame.first_bit(3), 3840 * (2 + 4 + 1));
  EXPECT_EQ(make(frame, 7), pn_bits(23, 7 * frame.bits(), frame.bits()));
}

TEST(NomaFrameBits, EachUserHasWordsOfItsOwn) {
  const WordEncoder encoder(whole_code(ldpc_codes()[0]));
  const LdpcCode& code = ldpc_codes()[0];
  const NomaFrameBits frame({}, kUnlike, encoder.code());
  const std::int64_t words[] = {3, 6, 1, 10, 3, 13};
  const Bits bits = make(frame, 5), payload = pn_bits(23, 5 * 36 * code.k(), 36 * code.k());
  std::int64_t before = 0;  // words of earlier users
  for (std::int64_t u = 0; u < 6; ++u) {
    const std::int64_t own = words[u], count = frame.of(u).bits();
    ASSERT_EQ(frame.of(u).words(), own);
    const auto element = [&](std::int64_t e) { return bits[static_cast<std::size_t>(frame.first_bit(u) + e)]; };
    for (std::int64_t w = 0; w < own; ++w) {
      const auto first = static_cast<std::size_t>((before + w) * code.k());
      const Bits word = encoder.encoded(std::span(payload).subspan(first, static_cast<std::size_t>(code.k())));
      for (std::int64_t i = 0; i < code.n(); ++i) ASSERT_EQ(element(i * own + w), word[static_cast<std::size_t>(i)]);
    }
    const Bits filler = pn_bits(15, own * code.n(), count - own * code.n());
    for (std::int64_t e = own * code.n(); e < count; ++e)
      ASSERT_EQ(element(e), filler[static_cast<std::size_t>(e - own * code.n())]) << u << ' ' << e;
    before += own;
  }
}

TEST(NomaFrameBits, SomeUsersAlone) {
  const NomaFrameBits frame({}, kUnlike, whole_code(ldpc_codes()[0]));
  const Bits all = make(frame, 0);
  Bits information(static_cast<std::size_t>(frame.information()));
  frame.payload(0, information);
  std::vector<std::byte> scratch(frame.scratch_bytes());
  Bits bits(static_cast<std::size_t>(frame.of(3).bits()));
  frame.encode(3, 4, std::span(information).subspan(static_cast<std::size_t>(frame.first_information(3))), bits,
               scratch.data());
  EXPECT_TRUE(std::equal(bits.begin(), bits.end(), all.begin() + frame.first_bit(3)));
}

}  // namespace
}  // namespace iqd
