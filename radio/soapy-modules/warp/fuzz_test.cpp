// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A million packets that are broken, truncated, repeated, out of order or for other hosts. tests/fuzz feeds random
// bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "radio/soapy-modules/warp/node/piece.hpp"

namespace iqd::warp {
namespace {

/// A reply of `samples` samples, and damaged versions of it.
class Reply {
 public:
  static constexpr std::uint32_t kFirst = 5000, kCount = 16384, kEach = 359;
  static constexpr std::uint16_t kHost = 250, kNode = 3, kSequence = 777;

  explicit Reply(std::mt19937& random) : random_(random), iq(2 * kCount) {
    for (auto& x : iq) x = static_cast<std::int16_t>(random_());
    for (std::uint32_t at = 0; at < kCount; at += kEach) {
      const std::uint32_t n = std::min(kEach, kCount - at);
      packets.push_back(encode_samples({kHost, kNode, Type::to_host, kSequence, 0, 0x30000009},
                                       {2, 0, 9, kFirst + at, n}, &iq[2 * at]));
    }
  }
  /// One that must not be accepted as part of the reply.
  Bytes false_one() {
    Bytes b = packets[random_() % packets.size()];
    const auto flip = [&](std::size_t at) { b[at] ^= static_cast<std::byte>(1u << random_() % 8); };
    switch (random_() % 6) {
      case 0: b.resize(random_() % b.size()); break;
      case 1: flip(2 + random_() % 6); break;   // for another host, from another node, of an unknown type
      case 2: flip(10 + random_() % 2); break;  // for another request
      case 3: flip(22 + random_() % 2); break;  // for another buffer
      case 4: flip(30 + random_() % 4); break;  // with a wrong count
      default:
        b.resize(random_() % 1500);
        for (std::byte& x : b) x = static_cast<std::byte>(random_());
        break;
    }
    return b;
  }

 private:
  std::mt19937& random_;

 public:
  std::vector<std::int16_t> iq;
  std::vector<Bytes> packets;
};

TEST(WarpFuzz, WhatIsPutTogetherIsWhatWasSent) {
  std::mt19937 random(3);
  std::size_t looked_at = 0, taken = 0;
  while (looked_at < 1'000'000) {
    Reply reply(random);
    std::vector<Bytes> way = reply.packets;
    for (std::size_t i = 0; i < 40 * reply.packets.size(); ++i)
      way.push_back(i % 4 ? reply.false_one() : reply.packets[random() % reply.packets.size()]);
    std::shuffle(way.begin(), way.end(), random);
    Piece piece;
    piece.begin(2, Reply::kFirst, Reply::kCount);
    std::optional<std::uint8_t> capture;
    for (const Bytes& bytes : way) {
      ++looked_at;
      const auto packet = decode(bytes);
      if (!packet || !is_reply(*packet, Reply::kHost, Reply::kNode, Reply::kSequence, Reply::kSequence)) continue;
      SampleHeader said;
      taken += piece.take(*packet, capture, said) == Piece::Taken::fresh;
    }
    ASSERT_TRUE(piece.coverage.whole());
    ASSERT_EQ(piece.iq, reply.iq);
  }
  EXPECT_EQ(taken % 46, 0u) << "each packet once";
}

}  // namespace
}  // namespace iqd::warp
