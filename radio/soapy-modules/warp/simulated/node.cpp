// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/node.hpp"

#include "base/clock.hpp"

namespace iqd::warp_node {
namespace {

constexpr std::uint32_t kBroadcast = 0xFFFF;
constexpr std::uint32_t kReplyWanted = 1;

}  // namespace

Node::Node(const Options& options)
    : options_(options), configured_(options.configured), faults_(options.faults), board_(options) {}

std::vector<Node::Datagram> Node::answer(std::span<const std::uint8_t> bytes) {
  const Fields packet(bytes);
  ++seen_.packets;
  if (bytes.size() < 18 || packet.u16(8) != bytes.size()) {
    ++seen_.broken;
    return {};
  }
  const std::uint32_t to = packet.u16(2);
  if (faults_.deaf() || faults_.loses_command()) return {};
  if (to != kBroadcast && static_cast<int>(to) != options_.id) return {};
  if (packet.u8(7) == 0) {
    trigger(packet.u32(14));
    return {};
  }
  if (packet.u8(7) != 1 || kArguments + packet.u16(18) > bytes.size()) {
    ++seen_.broken;
    return {};
  }
  const std::uint32_t command = packet.u32(14);
  if (command == 0x30000008) return written(bytes);
  std::vector<std::uint32_t> words(packet.u16(20));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = packet.u32(kArguments + 4 * i);
  commands_.add(command, words);
  if (command == 0x30000009) return faults_.disturb(read(packet));
  if (!configured_ && command != 0x00000005) return {};
  const std::vector<std::uint32_t> said = obey(command, words);
  if (!(packet.u16(12) & kReplyWanted)) return {};
  return {reply(packet, 0, said)};
}

Node::Datagram Node::reply(const Fields& request, std::uint32_t flags, const std::vector<std::uint32_t>& words) const {
  const auto size = static_cast<std::uint32_t>(kArguments + 4 * words.size());
  Writer w;
  w.u16(0).u16(request.u16(4)).u16(static_cast<std::uint32_t>(options_.id)).u8(0).u8(2).u16(size);
  w.u16(request.u16(10)).u16(flags).u32(request.u32(14));
  w.u16(static_cast<std::uint32_t>(4 * words.size())).u16(static_cast<std::uint32_t>(words.size()));
  for (const std::uint32_t word : words) w.u32(word);
  return w.bytes;
}

std::vector<std::uint32_t> Node::obey(std::uint32_t command, const std::vector<std::uint32_t>& words) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t first = words.empty() ? 0 : words[0];
  switch (command) {
    case 0x00000001: board_.initialise(); return {0};
    case 0x00000002: return info();
    case 0x00000004: return {0x96'00, 0x90'00, 0xA0'00};
    case 0x00000005: configure(words); return {};
    case 0x30000001: board_.set_tx_delay(first); return {0};
    case 0x30000002: board_.set_tx_length(first); return {0};
    case 0x30000003: board_.set_tx_mode(first); return {0};
    case 0x3000000B: board_.set_rx_length(first); return {0};
    case 0x40000001: board_.add_trigger(first); return {0};
    default: obey_switch(command, first); return {0};
  }
}

/// RF chains are the top four bits, buffers the lowest ones.
void Node::obey_switch(std::uint32_t command, std::uint32_t select) {
  switch (command) {
    case 0x20000001: board_.set_rf(select >> 28, true, false); break;
    case 0x20000002: board_.set_rf(select >> 28, false, true); break;
    case 0x20000003: board_.set_rf(select >> 28, false, false); break;
    case 0x30000004: board_.enable_transmission(select); break;
    case 0x30000005: board_.enable_capture(select); break;
    case 0x30000006: board_.disable(select); break;
    default: break;
  }
}

void Node::restart(int serial) {
  const std::lock_guard lock(mutex_);
  options_.serial = serial;
  board_.restart();
}

std::vector<std::uint32_t> Node::info() const {
  return {static_cast<std::uint32_t>(options_.serial),
          0x0012'3456,
          0x789A'BCDE,
          0x0000'4050,
          0xC285'0000u | static_cast<std::uint32_t>(options_.serial),
          0x0307'0500,
          options_.most,
          options_.most,
          board_.tx_length(),
          board_.rx_length(),
          0x0103'0000,
          1,
          static_cast<std::uint32_t>(options_.chains)};
}

void Node::configure(const std::vector<std::uint32_t>& words) {
  if (configured_ || words.size() < 3 || static_cast<int>(words[0]) != options_.serial) return;
  options_.id = static_cast<int>(words[1]);
  configured_ = true;
}

void Node::trigger(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  if (faults_.loses_trigger() || !board_.listens_to(id) || faults_.deaf()) return;
  ++seen_.triggers;
  const Board::Started started = board_.trigger(steady_ns());
  seen_.sent += started.sent;
  seen_.captures += started.captures;
}

bool Node::transmits(int chain) const {
  const std::lock_guard lock(mutex_);
  return board_.is_on_air(chain, steady_ns());
}

}  // namespace iqd::warp_node
