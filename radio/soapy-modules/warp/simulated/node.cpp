// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/node.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace iqd::warp_node {
namespace {

constexpr std::size_t kArguments = 22;
constexpr std::uint32_t kBroadcast = 0xFFFF;
constexpr std::uint32_t kReplyWanted = 1;

Transmitter::Options amplifier_of(const Options& options) {
  Transmitter::Options o = Transmitter::impaired();
  if (options.snr_db != 0) o.noise = std::pow(10, -options.snr_db / 20);
  return o;
}

}  // namespace

Node::Node(const Options& options) : options_(options), configured_(options.configured), began_ns_(steady_ns()) {
  for (Chain& c : chains_) {
    c.tx.resize(options.most);
    c.rx.resize(options.most);
  }
  if (options.amplifier) amplifier_.emplace(amplifier_of(options));
}

bool Node::deaf() const {
  const double at = static_cast<double>(steady_ns() - began_ns_) / 1e9;
  const Faults& f = options_.faults;
  return f.deaf_at_s >= 0 && at >= f.deaf_at_s && at < f.deaf_at_s + f.deaf_for_s;
}

std::vector<Node::Datagram> Node::answer(std::span<const std::uint8_t> bytes) {
  const Fields packet(bytes);
  ++seen_.packets;
  if (bytes.size() < 18 || packet.u16(8) != bytes.size()) {
    ++seen_.broken;
    return {};
  }
  const std::uint32_t to = packet.u16(2);
  if (deaf() || due(options_.faults.lose_commands, count_commands_)) return {};
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
  {
    const std::lock_guard lock(mutex_);
    last_[command] = words;
    ++times_[command];
  }
  if (command == 0x30000009) return disturb(read(packet));
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
    case 0x00000001: initialise(); return {0};
    case 0x00000002: return info();
    case 0x00000004: return {0x96'00, 0x90'00, 0xA0'00};
    case 0x00000005: configure(words); return {};
    case 0x30000001: tx_delay_ = first; return {0};
    case 0x30000002: tx_length_ = std::min(first, options_.most); return {0};
    case 0x30000003: tx_mode_ = first; return {0};
    case 0x3000000B: rx_length_ = std::min(first, options_.most); return {0};
    case 0x40000001: triggers_ |= first; return {0};
    default: break;
  }
  if (command >= 0x20000001 && command <= 0x20000003) set_rf(command, first);
  if (command >= 0x30000004 && command <= 0x30000006) set_buffers(command, first);
  return {0};
}

void Node::restart(int serial) {
  const std::lock_guard lock(mutex_);
  options_.serial = serial;
  initialise();
  for (Chain& c : chains_) c.capture = 0;
  tx_length_ = rx_length_ = options_.most;
}

void Node::initialise() {
  for (Chain& c : chains_) c.tx_on = c.rx_on = c.tx_enabled = c.rx_enabled = c.captured = false;
  triggers_ = 0;
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
          tx_length_,
          rx_length_,
          0x0103'0000,
          1,
          static_cast<std::uint32_t>(options_.chains)};
}

void Node::configure(const std::vector<std::uint32_t>& words) {
  if (configured_ || words.size() < 3 || static_cast<int>(words[0]) != options_.serial) return;
  options_.id = static_cast<int>(words[1]);
  configured_ = true;
}

void Node::set_rf(std::uint32_t command, std::uint32_t select) {
  for (int c = 0; c < options_.chains; ++c) {
    if (!(select & 0x1000'0000u << c)) continue;
    chains_[static_cast<std::size_t>(c)].tx_on = command == 0x20000001;
    chains_[static_cast<std::size_t>(c)].rx_on = command == 0x20000002;
  }
}

void Node::set_buffers(std::uint32_t command, std::uint32_t mask) {
  for (int c = 0; c < options_.chains; ++c) {
    if (!(mask & 1u << c)) continue;
    Chain& chain = chains_[static_cast<std::size_t>(c)];
    if (command == 0x30000004) chain.tx_enabled = true;
    if (command == 0x30000005) chain.rx_enabled = true, chain.captured = false;
    if (command == 0x30000006) chain.tx_enabled = chain.rx_enabled = false;
  }
}

void Node::trigger(std::uint32_t id) {
  if (due(options_.faults.lose_triggers, count_triggers_) || !(triggers_ & id) || deaf()) return;
  ++seen_.triggers;
  const std::lock_guard lock(mutex_);
  const std::int64_t now = steady_ns();
  for (Chain& c : chains_)
    if (c.tx_enabled) {
      c.sent_ns = now;
      ++seen_.sent;
    }
  for (int i = 0; i < options_.chains; ++i) {
    Chain& c = chains_[static_cast<std::size_t>(i)];
    if (!c.rx_enabled) continue;
    c.captured = true;
    c.triggered_ns = now;
    ++c.capture;
    ++seen_.captures;
    hear(i);
  }
}

bool Node::on_air(const Chain& c, std::int64_t now) const {
  if (!c.tx_on || !c.tx_enabled || c.sent_ns == 0) return false;
  return tx_mode_ == 1 || now - c.sent_ns < static_cast<std::int64_t>(tx_length_ / options_.rate_hz * 1e9);
}

/// What a chain receives from now on, all of it at once.
void Node::hear(int number) {
  Chain& rx = chains_[static_cast<std::size_t>(number)];
  const int wire =
      static_cast<std::size_t>(number) < options_.wires.size() ? options_.wires[static_cast<std::size_t>(number)] : -1;
  if (wire < 0) {
    for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = pattern(rx.capture, number, n);
    return;
  }
  const Chain& tx = chains_[static_cast<std::size_t>(wire)];
  const bool on = rx.rx_on && tx.tx_on && tx.tx_enabled && tx_length_ > 0;
  const auto sent = [&](std::int64_t n) -> std::uint32_t {
    n -= options_.delay + static_cast<std::int64_t>(tx_delay_);
    if (!on || n < 0 || (tx_mode_ != 1 && n >= tx_length_)) return 0;
    return tx.tx[static_cast<std::size_t>(n) % tx_length_];
  };
  if (!amplifier_) {
    for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = sent(n);
    return;
  }
  const std::int64_t past = amplifier_->past();
  std::vector<cf32> x(rx_length_ + static_cast<std::size_t>(past + amplifier_->future())), y(rx_length_);
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    const std::uint32_t w = sent(n - past);
    x[static_cast<std::size_t>(n)] = {static_cast<float>(static_cast<std::int16_t>(w >> 16)) / 32768.0f,
                                      static_cast<float>(static_cast<std::int16_t>(w)) / 32768.0f};
  }
  amplifier_->run(x.data() + past, std::int64_t{rx.capture} << 24, y);
  const auto whole = [](float v) {
    return static_cast<std::uint32_t>(
        static_cast<std::uint16_t>(std::lround(std::clamp(v * 32768, -32768.0f, 32767.0f))));
  };
  for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = whole(y[n].real()) << 16 | whole(y[n].imag());
}

std::optional<std::vector<std::uint32_t>> Node::last(std::uint32_t command) const {
  const std::lock_guard lock(mutex_);
  const auto found = last_.find(command);
  return found == last_.end() ? std::nullopt : std::optional(found->second);
}

int Node::times(std::uint32_t command) const {
  const std::lock_guard lock(mutex_);
  const auto found = times_.find(command);
  return found == times_.end() ? 0 : found->second;
}

bool Node::transmits(int chain) const {
  const std::lock_guard lock(mutex_);
  return on_air(chains_[static_cast<std::size_t>(chain)], steady_ns());
}

}  // namespace iqd::warp_node
