// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace iqd::warp {

/// Throws std::invalid_argument if `address` is not an IPv4 address such as 10.0.0.1.
sockaddr_in endpoint(const std::string& address, std::uint16_t port);
std::string text_of(const sockaddr_in& endpoint);

/// A UDP socket over IPv4. One thread.
class UdpSocket {
 public:
  /// Unbound; may send to broadcast addresses. Throws std::runtime_error.
  UdpSocket();
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  /// Talks only to this peer from now on: packets from elsewhere are ignored.
  void connect(const sockaddr_in& peer);
  /// Requests a receive buffer of up to `bytes`; the system may grant less.
  void make_room(int bytes) noexcept;
  /// Returns false if the packet could not be sent.
  bool send(std::span<const std::byte> bytes) noexcept;
  bool send_to(std::span<const std::byte> bytes, const sockaddr_in& to) noexcept;
  /// Returns the next packet, valid until the next call, or nothing if none came by the deadline (steady_ns). Packets
  /// that have already arrived are returned in any case.
  std::optional<std::span<const std::byte>> receive(std::int64_t deadline_ns, sockaddr_in* from = nullptr);
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
  std::vector<std::byte> buffer_;
};

}  // namespace iqd::warp
