// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "radio/soapy-modules/warp/simulated/node.hpp"

namespace iqd::warp_node {
namespace {

constexpr int kPollMs = 20;
constexpr int kRoom = 8 << 20;

/// Returns a bound socket, and its port.
int bound(const std::string& address, int& port) {
  const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(s, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
  ::setsockopt(s, SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof kRoom);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &here.sin_addr);
  socklen_t size = sizeof here;
  if (::bind(s, reinterpret_cast<const sockaddr*>(&here), size) != 0) {
    const int error = errno;
    ::close(s);
    throw std::system_error(error, std::generic_category(), address + ":" + std::to_string(port));
  }
  ::getsockname(s, reinterpret_cast<sockaddr*>(&here), &size);
  port = ntohs(here.sin_port);
  return s;
}

std::span<const std::uint8_t> next(int socket, std::vector<std::uint8_t>& buffer, sockaddr_in& from) {
  socklen_t size = sizeof from;
  const ssize_t n =
      ::recvfrom(socket, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
  return {buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

}  // namespace

Network::Network(const std::vector<Options>& nodes, int trigger_port) : trigger_port_(trigger_port) {
  for (const Options& o : nodes) {
    nodes_.push_back(std::make_unique<Node>(o));
    // If the first node took any free port, the others take the ports after it.
    int port = o.port ? o.port + o.id : port_ ? port_ + o.id : 0;
    sockets_.push_back(bound(o.address, port));
    if (port_ == 0) port_ = port - o.id;
  }
  // Only a socket bound to all addresses gets broadcasts; several programs on one host may share the port.
  triggers_ = bound(nodes.front().address.starts_with("127.") ? nodes.front().address : "0.0.0.0", trigger_port_);
  thread_ = std::thread([this] { run(); });
}

Network::~Network() {
  stop_ = true;
  thread_.join();
  for (const int s : sockets_) ::close(s);
  ::close(triggers_);
}

void Network::run() {
  std::vector<pollfd> all{{triggers_, POLLIN, 0}};
  for (const int s : sockets_) all.push_back({s, POLLIN, 0});
  while (!stop_) {
    if (::poll(all.data(), all.size(), kPollMs) <= 0) continue;
    if (all[0].revents) hear_triggers();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (all[i + 1].revents) serve(sockets_[i], *nodes_[i]);
  }
}

void Network::serve(int socket, Node& node) {
  std::vector<std::uint8_t> buffer(65536);
  sockaddr_in from{};
  for (auto packet = next(socket, buffer, from); !packet.empty() && !stop_; packet = next(socket, buffer, from))
    say(socket, node.answer(packet), &from);
}

/// Handles the packets that are for all nodes.
void Network::hear_triggers() {
  std::vector<std::uint8_t> buffer(65536);
  sockaddr_in from{};
  for (auto packet = next(triggers_, buffer, from); !packet.empty(); packet = next(triggers_, buffer, from))
    for (std::size_t i = 0; i < nodes_.size(); ++i) say(sockets_[i], nodes_[i]->answer(packet), &from);
}

void Network::say(int socket, const std::vector<Node::Datagram>& answers, const void* to) {
  for (const Node::Datagram& a : answers)
    ::sendto(socket, a.data(), a.size(), 0, static_cast<const sockaddr*>(to), sizeof(sockaddr_in));
}

}  // namespace iqd::warp_node
