// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/udp.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "base/clock.hpp"

namespace iqd::warp {
namespace {

constexpr std::size_t kLargest = 65536;

/// Returns false if no packet arrived before the deadline.
bool wait_for_packet(int fd, std::int64_t deadline_ns) {
  const std::int64_t left = std::max<std::int64_t>(deadline_ns - steady_ns(), 0);
  pollfd wanted{fd, POLLIN, 0};
  const timespec time{left / 1'000'000'000, left % 1'000'000'000};
  return ::ppoll(&wanted, 1, &time, nullptr) > 0;
}

}  // namespace

sockaddr_in endpoint(const std::string& address, std::uint16_t port) {
  sockaddr_in e{};
  e.sin_family = AF_INET;
  e.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &e.sin_addr) != 1)
    throw std::invalid_argument("warp: '" + address + "' is not an IPv4 address such as 10.0.0.1");
  return e;
}

std::string text_of(const sockaddr_in& e) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &e.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(e.sin_port));
}

UdpSocket::UdpSocket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), buffer_(kLargest) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "warp: cannot make a socket");
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
}

UdpSocket::~UdpSocket() {
  ::close(fd_);
}

void UdpSocket::connect(const sockaddr_in& peer) {
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0)
    throw std::system_error(errno, std::generic_category(), "warp: no route to " + text_of(peer));
}

void UdpSocket::make_room(int bytes) noexcept {
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool UdpSocket::send(std::span<const std::byte> bytes) noexcept {
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
}

bool UdpSocket::send_to(std::span<const std::byte> bytes, const sockaddr_in& to) noexcept {
  return ::sendto(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), sizeof to) ==
         std::ssize(bytes);
}

std::optional<std::span<const std::byte>> UdpSocket::receive(std::int64_t deadline_ns, sockaddr_in* from) {
  for (;;) {
    socklen_t size = sizeof(sockaddr_in);
    const ssize_t n =
        ::recvfrom(fd_, buffer_.data(), buffer_.size(), 0, reinterpret_cast<sockaddr*>(from), from ? &size : nullptr);
    if (n >= 0) return std::span<const std::byte>(buffer_.data(), static_cast<std::size_t>(n));
    // If nothing listens there, an earlier packet has come back as an error, which this call has cleared.
    if (!wait_for_packet(fd_, deadline_ns)) return {};
  }
}

}  // namespace iqd::warp
