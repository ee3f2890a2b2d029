// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Packets that are broken, cut, repeated, out of order or for others, a million of each kind of test.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "radio/soapy-modules/warp/piece.hpp"

namespace iqd::warp {
namespace {

/// Whatever comes, what is taken from a packet lies in its bytes; sanitizers watch over the rest.
void expect_sound(std::span<const std::byte> b) {
  const auto packet = decode(b);
  if (!packet) return;
  const auto* end = b.data() + b.size();
  ASSERT_TRUE(packet->arguments.empty() ||
              (packet->arguments.data() >= b.data() && packet->arguments.data() + packet->arguments.size() <= end));
  const Words words = words_of(*packet);
  ASSERT_LE(4 * words.size(), b.size());
  decode_info(words);
  const auto samples = decode_samples(*packet);
  if (!samples) return;
  ASSERT_TRUE(samples->words.empty() || samples->words.size() == std::size_t{4} * samples->header.count);
  ASSERT_LE(samples->words.size(), b.size());
  std::vector<std::int16_t> iq(samples->words.size() / 2);
  unpack(samples->words, iq.data());
}

TEST(WarpFuzz, AMillionThatAreNone) {
  const std::int16_t iq[20] = {};
  const Bytes seeds[] = {encode({250, 1, Type::to_host, 4, 0, 2}, Words(13, 4)),
                         encode_trigger({kBroadcast, 250, Type::trigger, 9, 0, 8}),
                         encode_samples({250, 1, Type::to_host, 5, 0, 0x30000009}, {1, 0, 1, 100, 10}, iq)};
  std::mt19937 random(10);
  std::size_t taken = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    Bytes b = seeds[random() % 3];
    if (i % 4 == 0) {
      b.resize(random() % 80);
      for (std::byte& x : b) x = static_cast<std::byte>(random());
    }
    for (std::uint32_t k = random() % 4; k > 0 && !b.empty(); --k)
      b[random() % b.size()] = static_cast<std::byte>(random());
    if (i % 3 == 0) b.resize(random() % (b.size() + 5));
    taken += decode(b).has_value();
    expect_sound(b);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(taken, 100'000u) << "hardly any was looked at more closely";
  EXPECT_LT(taken, 900'000u);
}

/// A reply of so many samples, and what somebody makes of it on the way.
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
  /// One that must not be taken for a part of it.
  Bytes false_one() {
    Bytes b = packets[random_() % packets.size()];
    const auto flip = [&](std::size_t at) { b[at] ^= static_cast<std::byte>(1u << random_() % 8); };
    switch (random_() % 6) {
      case 0: b.resize(random_() % b.size()); break;
      case 1: flip(2 + random_() % 6); break;   // for another host, of another node, of no type
      case 2: flip(10 + random_() % 2); break;  // of another request
      case 3: flip(22 + random_() % 2); break;  // of another buffer
      case 4: flip(30 + random_() % 4); break;  // says another count than it has
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
