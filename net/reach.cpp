// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/reach.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace iqd::net {
namespace {

constexpr int kPatienceMs = 1000;

/// Returns 0 or the error.
int try_to_connect(const sockaddr* address, socklen_t bytes) {
  const int file = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return errno;
  int error = ::connect(file, address, bytes) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd wanted{file, POLLOUT, 0};
    socklen_t length = sizeof error;
    if (::poll(&wanted, 1, kPatienceMs) < 1)
      error = ETIMEDOUT;
    else
      ::getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  ::close(file);
  return error;
}

std::string text_of(int error) {
  switch (error) {
    case 0: return {};
    case ECONNREFUSED:
    case ENOENT:
      return fmt::format("nothing listens there ({}): is the publisher running, and is the address right?",
                         std::strerror(error));
    case ETIMEDOUT: return "no answer: does a firewall block it, and is the host right?";
    default: return fmt::format("cannot be reached: {}", std::strerror(error));
  }
}

std::string why_no_tcp(const std::string& where) {
  const auto colon = where.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = where.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int why = ::getaddrinfo(host.c_str(), where.c_str() + colon + 1, &hints, &found); why != 0)
    return fmt::format("the host '{}' is not known: {}", host, ::gai_strerror(why));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next)
    if ((error = try_to_connect(a->ai_addr, a->ai_addrlen)) == 0) return {};
  return text_of(error);
}

}  // namespace

std::string why_unreachable(const std::string& endpoint) {
  if (endpoint.starts_with("tcp://")) return why_no_tcp(endpoint.substr(6));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = endpoint.starts_with("ipc://") ? endpoint.substr(6) : "";
  if (path.empty() || path[0] == '@' || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  return text_of(try_to_connect(reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

}  // namespace iqd::net
