// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/node.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

using namespace warp;

constexpr std::uint16_t kNode = 0, kHost = 250;
constexpr std::uint32_t kCount = 96;

/// The peer: a socket that sends what the input says.
class Peer {
 public:
  Peer()
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), address_(endpoint("127.0.0.1", 0)) {
    socklen_t length = sizeof address_;
    expect(::bind(socket_, reinterpret_cast<const sockaddr*>(&address_), length) == 0 &&
               ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &length) == 0,
           "there is a port on loopback");
  }
  ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const sockaddr_in& address() const { return address_; }
  /// Receives all requests, and keeps the last one.
  void hear() {
    std::array<std::byte, 2048> bytes{};
    socklen_t length = sizeof host_;
    for (ssize_t n = 0; n >= 0;) {
      n = ::recvfrom(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&host_), &length);
      const auto packet = n > 0 ? decode(std::span(bytes).first(static_cast<std::size_t>(n))) : std::nullopt;
      if (packet) sequence_ = packet->header.sequence;
    }
  }
  /// The bytes as they are, or as the arguments of a reply to the next request.
  void say(Bytes& bytes) {
    const bool is_reply = !bytes.flag();
    const auto flags = static_cast<std::uint16_t>(bytes.below(8) == 1 ? kNodeNotReady : 0);
    const auto late = static_cast<std::uint16_t>(bytes.below(4));
    std::string packet(bytes.piece());
    if (is_reply) {
      const Words none;
      const warp::Bytes head =
          encode({kHost, kNode, Type::to_host, static_cast<std::uint16_t>(sequence_ + 1 + late), flags, 0}, none);
      std::string whole(reinterpret_cast<const char*>(head.data()), head.size());
      const std::size_t size = whole.size() + packet.size();
      whole[8] = static_cast<char>(size >> 8), whole[9] = static_cast<char>(size);
      whole[18] = static_cast<char>(packet.size() >> 8), whole[19] = static_cast<char>(packet.size());
      packet = whole + packet;
    }
    ::sendto(socket_, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&host_), sizeof host_);
  }

 private:
  int socket_;
  sockaddr_in address_;
  sockaddr_in host_{};
  std::uint16_t sequence_ = 0;
};

void ask(Node& node, Bytes& bytes, std::int64_t now) {
  switch (bytes.below(4)) {
    case 0: {
      Piece piece;
      piece.begin(1, 0, kCount);
      std::optional<std::uint8_t> capture;
      const Node::Read read = node.read(piece, capture, now);
      expect(read.outcome != Node::Read::Outcome::whole || piece.coverage.whole(), "whole is whole");
      expect(read.wait_ns >= 0 && read.wait_ns <= 50'000'000, "no wait is long");
      break;
    }
    case 1: {
      const std::vector<std::int16_t> iq(std::size_t{2} * kCount, 5);
      node.write(1, 0, kCount, iq.data(), now);
      break;
    }
    case 2: node.recognise(now); break;
    default: node.ask(Command::rx_length, {kCount}, now); break;
  }
}

}  // namespace

/// A node's answers to consecutive requests. They are sent before the requests, so nothing waits.
void warp_node(std::string_view input) {
  static Peer peer;
  Bytes bytes(input);
  NodeOptions options;
  options.id = kNode;
  options.host = kHost;
  options.address = peer.address();
  options.samples_a_packet = 32;
  options.patience_ns = 0;
  Node node(options);
  const std::int64_t now = steady_ns();
  try {
    node.ask(Command::node_identify, {}, now);
    for (int i = 0; i < 20 && !bytes.empty(); ++i) {
      peer.hear();
      for (std::size_t answers = bytes.below(8); answers > 0; --answers) peer.say(bytes);
      ask(node, bytes, now);
    }
  } catch (const std::runtime_error&) {  // another node, or the node has gone
  }
  peer.hear();
}

}  // namespace iqd::fuzz
