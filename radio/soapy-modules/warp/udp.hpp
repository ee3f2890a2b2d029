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

/// Throws std::invalid_argument where it is no IPv4 address, as 10.0.0.1.
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

  /// From now on with this one alone: what comes from elsewhere is left out.
  void connect(const sockaddr_in& peer);
  /// As much room for what comes as the system gives, up to so many bytes.
  void make_room(int bytes) noexcept;
  /// False where it could not leave.
  bool send(std::span<const std::byte> bytes) noexcept;
  bool send_to(std::span<const std::byte> bytes, const sockaddr_in& to) noexcept;
  /// The next packet, which stays until the next call; nothing where none came by then (steady_ns), at least what is
  /// there already.
  std::optional<std::span<const std::byte>> receive(std::int64_t deadline_ns, sockaddr_in* from = nullptr);
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
  std::vector<std::byte> buffer_;
};

}  // namespace iqd::warp
