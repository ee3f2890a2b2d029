// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/packet.hpp"

#include <algorithm>

namespace iqd::warp {
namespace {

constexpr std::size_t kInfoWords = 13;
constexpr std::uint32_t kMostInterfaces = 4;

template <class T> T take(std::span<const std::byte> from, std::size_t at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(static_cast<std::uint64_t>(value) << 8 | std::to_integer<std::uint64_t>(from[at + i]));
  return value;
}

template <class T> void put(std::byte* at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> 8 * (sizeof(T) - 1 - i));
}

/// Starts a packet of `size` bytes: everything up to the command.
Bytes begin(const Header& h, std::size_t size) {
  Bytes out(size);
  put(&out[2], h.destination);
  put(&out[4], h.source);
  put(&out[7], static_cast<std::uint8_t>(h.type));
  put(&out[8], static_cast<std::uint16_t>(size));
  put(&out[10], h.sequence);
  put(&out[12], h.flags);
  put(&out[14], h.command);
  return out;
}

Bytes begin(const Header& header, std::size_t argument_bytes, std::size_t arguments) {
  Bytes out = begin(header, kHeaderBytes + argument_bytes);
  put(&out[18], static_cast<std::uint16_t>(argument_bytes));
  put(&out[20], static_cast<std::uint16_t>(arguments));
  return out;
}

}  // namespace

std::optional<Packet> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kTriggerBytes) return {};
  const auto type = std::to_integer<std::uint8_t>(bytes[7]);
  if (type > static_cast<std::uint8_t>(Type::to_host)) return {};
  const auto length = take<std::uint16_t>(bytes, 8);
  if (length < kTriggerBytes || length > bytes.size()) return {};
  Packet packet;
  packet.header = {take<std::uint16_t>(bytes, 2),  take<std::uint16_t>(bytes, 4),  Type{type},
                   take<std::uint16_t>(bytes, 10), take<std::uint16_t>(bytes, 12), take<std::uint32_t>(bytes, 14)};
  if (packet.header.type == Type::trigger) return packet;
  if (length < kHeaderBytes) return {};
  const auto argument_bytes = take<std::uint16_t>(bytes, 18);
  if (kHeaderBytes + argument_bytes != length) return {};
  packet.count = take<std::uint16_t>(bytes, 20);
  packet.arguments = bytes.subspan(kHeaderBytes, argument_bytes);
  return packet;
}

bool is_reply(const Packet& packet, std::uint16_t host, std::uint16_t node, std::uint16_t since,
              std::uint16_t last) noexcept {
  const Header& h = packet.header;
  const bool asked = static_cast<std::uint16_t>(h.sequence - since) <= static_cast<std::uint16_t>(last - since);
  return h.type == Type::to_host && h.destination == host && h.source == node && asked;
}

Words words_of(const Packet& packet) {
  Words words(packet.arguments.size() / 4);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = take<std::uint32_t>(packet.arguments, 4 * i);
  return words;
}

Bytes encode(const Header& header, std::span<const std::uint32_t> words) {
  Bytes out = begin(header, 4 * words.size(), words.size());
  for (std::size_t i = 0; i < words.size(); ++i) put(&out[kHeaderBytes + 4 * i], words[i]);
  return out;
}

Bytes encode(const Header& header, std::initializer_list<std::uint32_t> words) {
  return encode(header, std::span(words.begin(), words.size()));
}

Bytes encode_trigger(const Header& header) {
  return begin(header, kTriggerBytes);
}

std::optional<Samples> decode_samples(const Packet& packet) {
  const auto a = packet.arguments;
  if (a.size() < kSampleHeaderBytes) return {};
  Samples s;
  s.header = {take<std::uint16_t>(a, 0), take<std::uint8_t>(a, 2), take<std::uint8_t>(a, 3), take<std::uint32_t>(a, 4),
              take<std::uint32_t>(a, 8)};
  if (s.header.flags & (kSamplesError | kSamplesNotReady)) return s;
  s.words = a.subspan(kSampleHeaderBytes);
  if (s.header.count == 0 || s.words.size() != std::size_t{4} * s.header.count) return {};
  return s;
}

Bytes encode_samples(const Header& header, const SampleHeader& samples, const std::int16_t* iq) {
  Bytes out = begin(header, kSampleHeaderBytes + std::size_t{4} * samples.count, 1);
  std::byte* at = &out[kHeaderBytes];
  put(at, samples.buffer);
  put(at + 2, samples.flags);
  put(at + 3, samples.id);
  put(at + 4, samples.first);
  put(at + 8, samples.count);
  at += kSampleHeaderBytes;
  for (std::size_t i = 0; i < std::size_t{2} * samples.count; ++i) put(at + 2 * i, static_cast<std::uint16_t>(iq[i]));
  return out;
}

void unpack(std::span<const std::byte> words, std::int16_t* iq) noexcept {
  for (std::size_t i = 0; i < words.size() / 2; ++i)
    iq[i] = static_cast<std::int16_t>(std::to_integer<int>(words[2 * i]) << 8 | std::to_integer<int>(words[2 * i + 1]));
}

std::optional<Info> decode_info(std::span<const std::uint32_t> w) {
  if (w.size() < kInfoWords) return {};
  const auto two = [&](std::size_t i) { return static_cast<std::uint64_t>(w[i]) << 32 | w[i + 1]; };
  Info info;
  info.serial = w[0];
  info.dna = two(1);
  info.mac = two(3) & 0xFFFF'FFFF'FFFF;
  info.hardware = static_cast<std::uint8_t>(w[5] >> 24);
  info.version = w[5] & 0xFF'FFFF;
  info.most_tx = w[6];
  info.most_rx = w[7];
  info.tx_length = w[8];
  info.rx_length = w[9];
  info.trigger_core = w[10];
  info.interface_groups = w[11];
  info.interfaces = w[12];
  if (info.interfaces == 0 || info.interfaces > kMostInterfaces || info.most_rx == 0 || info.most_tx == 0) return {};
  return info;
}

}  // namespace iqd::warp
