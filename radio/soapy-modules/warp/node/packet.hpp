// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The packets of nodes and hosts, as bytes and as values. All integers are big-endian. This code opens no socket, never
// waits and has no state. Invalid bytes never decode to a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace iqd::warp {

using Bytes = std::vector<std::byte>;
using Words = std::vector<std::uint32_t>;

inline constexpr std::size_t kTriggerBytes = 18;       // a trigger ends after its id
inline constexpr std::size_t kHeaderBytes = 22;        // arguments of all other packets begin here
inline constexpr std::size_t kSampleHeaderBytes = 12;  // before samples
inline constexpr std::uint16_t kBroadcast = 0xFFFF;    // as a destination: every node

enum class Type : std::uint8_t { trigger = 0, to_node = 1, to_host = 2 };

inline constexpr std::uint16_t kReplyWanted = 0x0001;
inline constexpr std::uint16_t kNodeNotReady = 0x8000;  // in a reply

/// group << 24 | id.
enum class Command : std::uint32_t {
  node_initialise = 0x00000001,
  node_info = 0x00000002,
  node_identify = 0x00000003,
  node_temperature = 0x00000004,
  node_configure = 0x00000005,
  node_reset = 0x00000006,
  transmit_enable = 0x20000001,
  receive_enable = 0x20000002,
  both_off = 0x20000003,
  channel = 0x20000004,
  tx_gains = 0x20000005,
  rx_gains = 0x20000006,
  tx_low_pass = 0x20000007,
  rx_low_pass = 0x20000008,
  gain_control = 0x20000009,
  tx_delay = 0x30000001,
  tx_length = 0x30000002,
  tx_mode = 0x30000003,
  tx_buffers_enable = 0x30000004,
  rx_buffers_enable = 0x30000005,
  buffers_disable = 0x30000006,
  write_iq = 0x30000008,
  read_iq = 0x30000009,
  rx_length = 0x3000000B,
  trigger_add = 0x40000001,
  trigger_inputs = 0x40000004,
};

struct Header {
  std::uint16_t destination = 0;
  std::uint16_t source = 0;
  Type type = Type::to_node;
  std::uint16_t sequence = 0;
  std::uint16_t flags = 0;
  std::uint32_t command = 0;  // of a trigger: its id, one bit
};

/// A decoded packet. `arguments` points into the bytes that were passed.
struct Packet {
  Header header;
  std::uint16_t count = 0;  // of arguments
  std::span<const std::byte> arguments;
};

/// Returns nothing if the bytes are no packet: too few bytes, an unknown type, inconsistent lengths.
std::optional<Packet> decode(std::span<const std::byte> bytes);
/// Whether this is the node's answer to one of this host's requests from `since` to `last`.
bool is_reply(const Packet& packet, std::uint16_t host, std::uint16_t node, std::uint16_t since,
              std::uint16_t last) noexcept;
/// The arguments, if they are words.
Words words_of(const Packet& packet);

/// A command with words as arguments; `header.type` says who sends it.
Bytes encode(const Header& header, std::span<const std::uint32_t> words);
Bytes encode(const Header& header, std::initializer_list<std::uint32_t> words);
/// A trigger for every node that listens for one of these ids.
Bytes encode_trigger(const Header& header);

/// Precedes samples, in both directions.
struct SampleHeader {
  std::uint16_t buffer = 0;  // one bit: A 1, B 2, C 4, D 8
  std::uint8_t flags = 0;
  std::uint8_t id = 0;  // of the capture, or of the write
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
inline constexpr std::uint8_t kSamplesError = 0x01;     // from a node
inline constexpr std::uint8_t kSamplesNotReady = 0x02;  // from a node
inline constexpr std::uint8_t kFirstOfWrite = 0x10;     // to a node
inline constexpr std::uint8_t kLastOfWrite = 0x20;      // to a node

/// Samples as on the wire, one word each: I in the high half, Q in the low one, both Q1.15.
struct Samples {
  SampleHeader header;
  std::span<const std::byte> words;  // header.count words; none if a flag says so
};
std::optional<Samples> decode_samples(const Packet& packet);
/// One argument: the sample header, and `header.count` samples, I and Q in turn.
Bytes encode_samples(const Header& header, const SampleHeader& samples, const std::int16_t* iq);
/// Converts words to interleaved I and Q.
void unpack(std::span<const std::byte> words, std::int16_t* iq) noexcept;

/// What a node reports about itself: 13 words.
struct Info {
  std::uint32_t serial = 0;
  std::uint64_t dna = 0;
  std::uint64_t mac = 0;      // its low 48 bits
  std::uint8_t hardware = 0;  // 3 for a WARP v3
  std::uint32_t version = 0;  // three bytes: major, minor, revision
  std::uint32_t most_tx = 0, most_rx = 0;
  std::uint32_t tx_length = 0, rx_length = 0;
  std::uint32_t trigger_core = 0;
  std::uint32_t interface_groups = 0;
  std::uint32_t interfaces = 0;  // RF chains
};
/// Returns nothing if it is too short or has impossible values.
std::optional<Info> decode_info(std::span<const std::uint32_t> words);

/// Checksum of a write: for each packet its first sample's number, then its last word.
class Checksum {
 public:
  void add(std::uint32_t word) noexcept {
    s1_ = (s1_ + word) % 65535;
    s2_ = (s2_ + s1_) % 65535;
  }
  std::uint32_t value() const noexcept { return static_cast<std::uint32_t>(s2_ << 16 | s1_); }

 private:
  std::uint64_t s1_ = 0, s2_ = 0;
};

/// The word of one sample.
constexpr std::uint32_t word_of(std::int16_t i, std::int16_t q) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(i)) << 16 | static_cast<std::uint16_t>(q);
}

}  // namespace iqd::warp
