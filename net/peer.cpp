// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace iqd::net {

std::string peer_of(int file) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(file, generic, &size) != 0) return "a peer that is gone";
  if (generic->sa_family == AF_UNIX) return "a local peer";
  if (::getnameinfo(generic, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "a peer";
  return fmt::format("{} port {}", host.data(), port.data());
}

// The copy's number is from the peers' share.
Peer::Peer(int file) : name_(peer_of(file)), copy_(::fcntl(file, F_DUPFD_CLOEXEC, file)) {}

Peer::Peer(Peer&& other) noexcept : name_(std::move(other.name_)), copy_(std::exchange(other.copy_, -1)) {}

Peer& Peer::operator=(Peer&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(copy_, other.copy_);
  return *this;
}

Peer::~Peer() {
  if (copy_ >= 0) ::close(copy_);
}

bool Peer::hung_up() const noexcept {
  if (copy_ < 0) return true;
  pollfd state{copy_, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) != 0;
}

void Peer::cut_off() const noexcept {
  if (copy_ < 0) return;
  // With a reset, the other side notices at once, even if it only sends.
  constexpr linger kReset{1, 0};
  ::setsockopt(copy_, SOL_SOCKET, SO_LINGER, &kReset, sizeof kReset);
  ::shutdown(copy_, SHUT_RDWR);
  // The kernel buffers megabytes, and libzmq would process each small message in them before it sees the end. Limited,
  // because a peer may never stop sending.
  constexpr int kMostReads = 1024;
  std::array<char, 16384> unread;
  for (int i = 0; i<kMostReads&& ::recv(copy_, unread.data(), unread.size(), MSG_DONTWAIT)> 0; ++i) continue;
}

}  // namespace iqd::net
