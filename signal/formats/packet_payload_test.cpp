// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/packet_payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace iqd {
namespace {

using Bits = std::vector<std::uint8_t>;

/// Bits of b(n) = b(n - 14) ^ b(n - 15), which begins with ones.
Bits pn15(std::size_t first, std::size_t count) {
  Bits b(first + count, 1);
  for (std::size_t n = 15; n < b.size(); ++n) b[n] = b[n - 14] ^ b[n - 15];
  return {b.begin() + static_cast<std::ptrdiff_t>(first), b.end()};
}

Bits payload_of(const PacketPayload& payload, std::int64_t packet) {
  Bits bits(static_cast<std::size_t>(payload.bits()), 9), scratch(payload.scratch_bytes());
  payload.make(packet, bits, scratch);
  return bits;
}

TEST(PacketPayload, CarriesOneWordAfterTheOther) {
  const WordCode code = whole_code(*find_ldpc_code("irig_1024_2_3"));
  const WordFrame frame = FrameChoice{.marker = "irig", .randomize = Randomize::ccsds}.frame(code.code);
  const PacketPayload payload(5000, code, frame, 15);
  EXPECT_EQ(payload.words(), 3);
  EXPECT_EQ(payload.information(), 3 * 1024);
  const WordEncoder encoder(code);
  Bits expected;
  for (std::size_t w = 0; w < 3; ++w) {
    Bits framed(64, 0);
    const Bits word = encoder.encoded(pn15((3 * 2 + w) * 1024, 1024));
    framed.insert(framed.end(), word.begin(), word.end());
    frame.close(framed);
    expected.insert(expected.end(), framed.begin(), framed.end());
  }
  const Bits rest = pn15(3 * 1600, 200);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(payload_of(payload, 2), expected);
}

TEST(PacketPayload, IsThereBeforeTheFirstPacketAndRepeatsWithTheSequence) {
  const WordCode code = whole_code(*find_ldpc_code("irig_4096_2_3"));
  const PacketPayload payload(6144, code, {}, 15);
  EXPECT_EQ(payload.words(), 1);
  EXPECT_EQ(payload_of(payload, -1), payload_of(payload, 32766));
  EXPECT_NE(payload_of(payload, -1), payload_of(payload, 0));
}

TEST(PacketPayload, WordsMayBeLongerThanAPacket) {
  EXPECT_EQ(PacketPayload(6144, whole_code(*find_ldpc_code("irig_4096_1_2")), {}, 15).words(), 0);
}

}  // namespace
}  // namespace iqd
