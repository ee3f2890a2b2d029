// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Packets against vectors that were written by hand from the protocol description, field by field; and a million
// invalid packets.
#include "radio/soapy-modules/warp/node/packet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {
namespace {

using ::testing::ElementsAre;

/// Hexadecimal digits, two per byte; a # starts a comment to the end of the line.
Bytes bytes(std::string_view text) {
  Bytes out;
  int digits = 0, value = 0;
  bool remark = false;
  for (const char c : text) {
    if (c == '#') remark = true;
    if (c == '\n') remark = false;
    if (remark || c == ' ' || c == '\n') continue;
    value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2) continue;
    out.push_back(static_cast<std::byte>(value));
    value = 0;
  }
  EXPECT_EQ(digits % 2, 0);
  return out;
}

TEST(WarpPacket, CommandWithoutArguments) {
  const Bytes golden = bytes(R"(
    0000      # pad
    0002      # to node 2
    00fa      # from host 250
    00        # reserved
    01        # type: host to node
    0016      # length: 20 bytes from offset 2 on, plus 2
    0007      # sequence number
    0001      # flags: a reply is wanted
    00000002  # group node (0), command 2: info
    0000      # bytes of arguments
    0000      # number of arguments)");
  EXPECT_EQ(encode({2, 250, Type::to_node, 7, kReplyWanted, static_cast<std::uint32_t>(Command::node_info)}, {}),
            golden);
}

TEST(WarpPacket, CommandsWithWords) {
  EXPECT_EQ(encode({1, 250, Type::to_node, 0x1234, kReplyWanted, static_cast<std::uint32_t>(Command::channel)},
                   {rf_select(1), 1, 14}),
            bytes(R"(
    0000 0001 00fa 00 01
    0022      # 22 bytes of header and 12 of arguments
    1234 0001
    20000004  # group interface (0x20), command 4: channel
    000c      # 12 bytes
    0003      # 3 arguments
    20000000  # RF B, one-hot in the top four bits
    00000001  # the band of 5 GHz
    0000000e  # channel 14)"));
  EXPECT_EQ(encode({0, 250, Type::to_node, 1, kReplyWanted, static_cast<std::uint32_t>(Command::read_iq)},
                   {2, 0x8000, 718, 1436, 2}),
            bytes(R"(
    0000 0000 00fa 00 01 002a 0001 0001
    30000009  # group baseband (0x30), command 9: read IQ
    0014 0005 # 20 bytes, 5 arguments
    00000002  # buffer B
    00008000  # first sample
    000002ce  # 718 samples
    0000059c  # at most 1436 bytes a packet
    00000002  # so 2 packets)"));
  EXPECT_EQ(encode({kBroadcast, 250, Type::to_node, 3, 0, static_cast<std::uint32_t>(Command::node_configure)},
                   {0x000000a5, 6, 0x0a000007}),
            bytes(R"(
    0000 ffff # to all
    00fa 00 01 0022 0003 0000
    00000005  # group node, command 5: configure
    000c 0003
    000000a5  # serial number 165
    00000006  # becomes node 6
    0a000007  # with the address 10.0.0.7)"));
}

TEST(WarpPacket, TriggerEndsBehindItsId) {
  EXPECT_EQ(encode_trigger({kBroadcast, 250, Type::trigger, 9, 0, 1u << 3}), bytes(R"(
    0000 ffff 00fa 00
    00        # type: trigger
    0012      # 18 bytes
    0009 0000
    00000008  # id 3, one-hot)"));
}

TEST(WarpPacket, SamplesThatAreWritten) {
  const std::int16_t iq[] = {0x1234, -2, -32768, 32767};
  EXPECT_EQ(encode_samples({4, 250, Type::to_node, 0x00ff, kReplyWanted, static_cast<std::uint32_t>(Command::write_iq)},
                           {4, kFirstOfWrite | kLastOfWrite, 0x5a, 0x00010000, 2}, iq),
            bytes(R"(
    0000 0004 00fa 00 01
    002a      # 22 + 12 + 8
    00ff 0001
    30000008  # group baseband, command 8: write IQ
    0014 0001 # one argument of 12 + 4 x 2 bytes
    0004      # buffer C
    30        # the first packet and the last
    5a        # id of the write
    00010000  # from sample 65536 on
    00000002  # 2 samples
    1234 fffe # I in the high half, Q in the low one
    8000 7fff)"));
}

TEST(WarpPacket, SamplesThatWereRead) {
  const Bytes golden = bytes(R"(
    0000
    00fa      # to host 250
    0001      # from node 1
    00 02     # type: node to host
    0036      # 54 bytes
    beef      # the sequence number of the request
    0000
    30000009  # read IQ
    0020      # 12 + 4 x 5 bytes
    0001      # one argument
    0008      # buffer D
    00        # no flags
    c3        # capture 195
    00000167  # from sample 359 on
    00000005  # 5 samples
    00010002 7fff8000 ffffffff 00000000 8001fffe)");
  const auto packet = decode(golden);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->header.destination, 250);
  EXPECT_EQ(packet->header.source, 1);
  EXPECT_EQ(packet->header.type, Type::to_host);
  EXPECT_EQ(packet->header.sequence, 0xbeef);
  EXPECT_EQ(packet->header.command, static_cast<std::uint32_t>(Command::read_iq));
  EXPECT_EQ(packet->count, 1);
  const auto samples = decode_samples(*packet);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->header.buffer, 8);
  EXPECT_EQ(samples->header.id, 0xc3);
  EXPECT_EQ(samples->header.first, 359u);
  std::vector<std::int16_t> iq(10);
  unpack(samples->words, iq.data());
  EXPECT_THAT(iq, ElementsAre(1, 2, 32767, -32768, -1, -1, 0, 0, -32767, -2));
}

TEST(WarpPacket, NotReadyHasNoSamples) {
  const Bytes golden = bytes(R"(
    0000 00fa 0001 00 02 0022 0001
    8000      # the node is not ready
    30000009 000c 0001
    0001
    02        # nor are the samples
    07
    00001000  # it has got as far as sample 4096
    00008000  # of 32768)");
  const auto packet = decode(golden);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->header.flags, kNodeNotReady);
  const auto samples = decode_samples(*packet);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->header.flags, kSamplesNotReady);
  EXPECT_EQ(samples->header.first, 4096u);
  EXPECT_EQ(samples->header.count, 32768u);
  EXPECT_TRUE(samples->words.empty());
}

constexpr std::string_view kInfo = R"(
    0000 00fa 0003 00 02
    004a      # 22 + 13 x 4
    0004 0000
    00000002
    0034 000d # 52 bytes, 13 arguments
    00000119  # serial number 281
    00345678 9abcdef0   # DNA
    00004050 c2850119   # MAC 40:50:c2:85:01:19
    03070500  # a WARP v3, version 7.5.0
    00100000  # transmits up to 1,048,576 samples
    00200000  # receives up to 2,097,152 samples
    00008000 00004000   # and is set to 32768 and 16384
    00010203  # trigger core
    00000001  # interface groups
    00000004  # four RF chains)";

TEST(WarpPacket, InfoIsThirteenWords) {
  const Bytes golden = bytes(kInfo);
  const auto packet = decode(golden);
  ASSERT_TRUE(packet);
  const auto info = decode_info(words_of(*packet));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->serial, 281u);
  EXPECT_EQ(info->dna, 0x00345678'9abcdef0u);
  EXPECT_EQ(info->mac, 0x4050c2850119u);
  EXPECT_EQ(info->hardware, 3);
  EXPECT_EQ(info->version, 0x070500u);
  EXPECT_EQ(info->most_tx, 1'048'576u);
  EXPECT_EQ(info->most_rx, 2'097'152u);
  EXPECT_EQ(info->tx_length, 32768u);
  EXPECT_EQ(info->rx_length, 16384u);
  EXPECT_EQ(info->trigger_core, 0x10203u);
  EXPECT_EQ(info->interface_groups, 1u);
  EXPECT_EQ(info->interfaces, 4u);
  for (const auto& [word, value] : {std::pair{12, 0u}, {12, 5u}, {6, 0u}, {7, 0u}}) {
    Words other = words_of(*packet);
    other[static_cast<std::size_t>(word)] = value;
    EXPECT_FALSE(decode_info(other)) << word << " = " << value;
  }
}

/// From the formulas, by hand: 3, then 5: s1 = 3, 8; s2 = 3, 11. 0xffff counts as 0, 0x10000 as 1.
TEST(WarpPacket, ChecksumByItsFormula) {
  Checksum sum;
  EXPECT_EQ(sum.value(), 0u);
  sum.add(3);
  EXPECT_EQ(sum.value(), 0x0003'0003u);
  sum.add(5);
  EXPECT_EQ(sum.value(), 0x000b'0008u);
  sum.add(0xffff);
  EXPECT_EQ(sum.value(), 0x0013'0008u);
  sum.add(0x10000);
  EXPECT_EQ(sum.value(), 0x001c'0009u);
}

TEST(WarpPacket, WhatIsTooShortOrDoesNotAgreeIsNone) {
  const Bytes whole = bytes(kInfo);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(decode(std::span(whole).first(n))) << "cut to " << n << " bytes";
  const auto changed = [&](std::size_t at, int value) {
    Bytes other = whole;
    other[at] = static_cast<std::byte>(value);
    return decode(other).has_value();
  };
  EXPECT_TRUE(changed(9, 0x4a)) << "unchanged";
  EXPECT_FALSE(changed(7, 3)) << "there are three types";
  EXPECT_FALSE(changed(9, 0x4b)) << "says that it is longer";
  EXPECT_FALSE(changed(9, 0x49)) << "its arguments end behind it";
  EXPECT_FALSE(changed(19, 0x35)) << "the same";
  EXPECT_FALSE(changed(19, 0x33)) << "its arguments end before it";
  EXPECT_EQ(words_of(*decode(std::span(whole))).size(), 13u);
}

/// What one side writes the other reads.
TEST(WarpPacket, ThereAndBack) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Header h{static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(random()), Type::to_host,
                   static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(random()), std::uint32_t(random())};
    std::vector<std::int16_t> iq(2 * (1 + random() % 359));
    for (auto& x : iq) x = static_cast<std::int16_t>(random());
    const SampleHeader s{static_cast<std::uint16_t>(random()), 0, static_cast<std::uint8_t>(random()),
                         std::uint32_t(random()), static_cast<std::uint32_t>(iq.size() / 2)};
    const Bytes written = encode_samples(h, s, iq.data());
    const auto packet = decode(written);
    ASSERT_TRUE(packet);
    const auto samples = decode_samples(*packet);
    ASSERT_TRUE(samples);
    EXPECT_EQ(packet->header.command, h.command);
    EXPECT_EQ(packet->header.flags, h.flags);
    EXPECT_EQ(samples->header.first, s.first);
    EXPECT_EQ(samples->header.id, s.id);
    std::vector<std::int16_t> back(iq.size());
    unpack(samples->words, back.data());
    EXPECT_EQ(back, iq);
  }
}

}  // namespace
}  // namespace iqd::warp
