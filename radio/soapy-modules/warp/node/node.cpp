// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/node.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace iqd::warp {
namespace {

constexpr int kReceiveBytes = 4 << 20;
constexpr std::int64_t kShortPauseNs = 1'000'000;

void sleep_until(std::int64_t ns) {
  const std::int64_t left = ns - steady_ns();
  if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

}  // namespace

Node::Node(const NodeOptions& options) : options_(options), packet_samples_(options.samples_a_packet) {
  socket_.connect(options.address);
  socket_.make_room(kReceiveBytes);
}

std::string Node::name() const {
  return "node " + std::to_string(options_.id) + " at " + text_of(options_.address);
}

Header Node::header(Command command, std::uint16_t flags) {
  return {options_.id, options_.host, Type::to_node, ++sequence_, flags, static_cast<std::uint32_t>(command)};
}

Bytes Node::packet(Command command, std::initializer_list<std::uint32_t> words) const {
  return encode({options_.id, options_.host, Type::to_node, 0, 0, static_cast<std::uint32_t>(command)}, words);
}

/// A packet that cannot be sent counts as one without an answer.
void Node::send(const Bytes& bytes) {
  socket_.send(bytes);
}

/// Waits for the reply to any request from `since` on: late answers count, too.
std::optional<Packet> Node::reply(std::uint16_t since, std::int64_t deadline_ns) {
  while (const auto bytes = socket_.receive(deadline_ns)) {
    const auto packet = decode(*bytes);
    if (packet && is_reply(*packet, options_.host, options_.id, since, sequence_)) return packet;
    ++counts_.ignored;
    if (steady_ns() > deadline_ns) break;  // other packets may arrive without end
  }
  return {};
}

/// Like reply(), and fails when a node was silent for too long.
std::optional<Packet> Node::expect(std::uint16_t since, std::int64_t deadline_ns) {
  const std::int64_t began = steady_ns();
  auto packet = reply(since, std::min(deadline_ns, began + options_.patience_ns));
  if (packet) {
    silent_ns_ = 0;
    return packet;
  }
  silent_ns_ += steady_ns() - began;
  if (silent_ns_ > options_.silence_ns) {  // stays gone until it answers: closing it must not wait again
    throw NodeSilent("warp: " + name() + " does not answer; check that it is on, that its id is " +
                     std::to_string(options_.id) + " and that this host has an address in its network");
  }
  return {};
}

std::optional<Words> Node::ask(Command command, std::span<const std::uint32_t> words, std::int64_t deadline_ns) {
  const std::lock_guard lock(mutex_);
  Length* length = command == Command::tx_length ? &tx_length_ : command == Command::rx_length ? &rx_length_ : nullptr;
  if (length && !words.empty()) length->tell(words[0]);
  const std::uint16_t since = sequence_ + 1;
  do {
    send(encode(header(command), words));
    const auto packet = expect(since, deadline_ns);
    if (!packet) {
      ++counts_.asked_again;
    } else if (packet->header.flags & kNodeNotReady) {
      ++counts_.not_ready;
      sleep_until(std::min(deadline_ns, steady_ns() + kShortPauseNs));
    } else {
      if (length) length->before = length->told;
      Words said = words_of(*packet);
      if (const auto info = command == Command::node_info ? decode_info(said) : std::nullopt) compare(*info);
      return said;
    }
  } while (steady_ns() < deadline_ns);
  return {};
}

std::optional<Words> Node::ask(Command command, std::initializer_list<std::uint32_t> words, std::int64_t deadline_ns) {
  return ask(command, std::span(words.begin(), words.size()), deadline_ns);
}

Words Node::ask(Command command, std::initializer_list<std::uint32_t> words) {
  const auto answer = ask(command, words, steady_ns() + 2 * options_.silence_ns);
  if (!answer) throw NodeSilent("warp: " + name() + " does not become ready");
  return *answer;
}

bool Node::recognise(std::int64_t deadline_ns) {
  return ask(Command::node_info, {}, deadline_ns).has_value();
}

void Node::compare(const Info& info) {
  if (serial_.value_or(info.serial) != info.serial)
    throw std::runtime_error("warp: " + name() + " has the serial number " + std::to_string(info.serial) + ", not " +
                             std::to_string(*serial_) + ": the board was replaced");
  serial_ = info.serial;
  const bool tx = tx_length_.forgotten(info.tx_length), rx = rx_length_.forgotten(info.rx_length);
  if (tx || rx)
    throw std::runtime_error("warp: " + name() + " lost its settings: it was restarted, or another host changed them");
}

void Node::Length::tell(std::uint32_t value) noexcept {
  if (value == told) return;
  before = told;
  told = value;
}

/// A node that never reports the lengths that were set allows no conclusion.
bool Node::Length::forgotten(std::uint32_t said) noexcept {
  if (!told) return false;
  if (said == told) says = true;
  return says && said != told && said != before;
}

Info Node::info() {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i)
    if (const auto info = decode_info(ask(Command::node_info, {}))) return *info;
  throw std::runtime_error("warp: " + name() + " reports invalid information about itself");
}

}  // namespace iqd::warp
