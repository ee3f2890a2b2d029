// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/piece.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

using namespace warp;

constexpr std::uint32_t kBuffer = 2, kFirst = 100, kCount = 64;

bool is_within(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// Decodes a packet in every possible way.
void take_apart(const Packet& packet, std::span<const std::byte> bytes) {
  expect(is_within(packet.arguments, bytes), "arguments lie in the packet");
  const Words words = words_of(packet);
  if (const auto info = decode_info(words)) expect(info->interfaces > 0, "a node has RF chains");
  const auto samples = decode_samples(packet);
  if (!samples) return;
  expect(is_within(samples->words, bytes), "samples lie in the packet");
  expect(samples->words.empty() || samples->words.size() == std::size_t{4} * samples->header.count,
         "a packet holds the samples that it says");
  std::vector<std::int16_t> iq(samples->words.size() / 2);
  unpack(samples->words, iq.data());
}

}  // namespace

/// Packets from which a stretch of samples is assembled.
void warp(std::string_view input) {
  Bytes bytes(input);
  Piece piece;
  piece.begin(kBuffer, kFirst, kCount);
  std::optional<std::uint8_t> capture;
  std::uint32_t missing_from = kFirst;
  while (!bytes.empty()) {
    const auto raw = std::as_bytes(std::span(bytes.piece()));
    const auto packet = decode(raw);
    if (!packet) continue;
    take_apart(*packet, raw);
    is_reply(*packet, 1, 2, 3, 4);
    SampleHeader said;
    piece.take(*packet, capture, said);
    const Coverage& c = piece.coverage;
    expect(c.first_missing() >= missing_from && c.first_missing() <= kFirst + kCount, "received samples stay received");
    expect(c.missing_up_to() >= c.first_missing() && c.missing_up_to() <= c.end(), "what is missing is in range");
    missing_from = c.first_missing();
  }
}

}  // namespace iqd::fuzz
