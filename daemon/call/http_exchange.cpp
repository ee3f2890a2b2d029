// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/call/http_exchange.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/file_handle.hpp"

namespace iqd {
namespace {

// civetweb's client functions, as Debian builds them, know no IPv6.

using Clock = std::chrono::steady_clock;
constexpr auto kConnectPatience = std::chrono::seconds(5);

class Socket {
 public:
  explicit Socket(const addrinfo& to)
      : file_(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol)) {}
  int number() const noexcept { return file_.get(); }
  bool wait_for(short events, Clock::time_point until) const {
    pollfd p{number(), events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    return ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
  }

 private:
  FileHandle file_;
};

/// 0, or errno.
int connect_to(const Socket& socket, const addrinfo& to, Clock::time_point until) {
  if (socket.number() < 0) return errno;
  if (::connect(socket.number(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!socket.wait_for(POLLOUT, std::min(until, Clock::now() + kConnectPatience))) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Socket connected(const MonitorAddress& to, Clock::time_point until) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &found);
  if (failed != 0) throw NothingAnswers(to, ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = all.get(); one; one = one->ai_next) {
    Socket socket(*one);
    error = connect_to(socket, *one, until);
    if (error == 0) return socket;
  }
  throw NothingAnswers(to, std::strerror(error));
}

bool send_all(const Socket& socket, std::string_view bytes, Clock::time_point until) {
  while (!bytes.empty()) {
    if (!socket.wait_for(POLLOUT, until)) return false;
    const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
  return true;
}

/// Up to the end; less if that does not come in time.
std::string receive_all(const Socket& socket, Clock::time_point until, std::size_t largest) {
  std::string bytes;
  std::array<char, 65536> part{};
  while (bytes.size() < largest && socket.wait_for(POLLIN, until)) {
    const ssize_t got = ::recv(socket.number(), part.data(), part.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    bytes.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return bytes;
}

}  // namespace

NothingAnswers::NothingAnswers(const MonitorAddress& to, std::string reason)
    : SetupError(
          fmt::format("nothing answers on {}: {}. Is iqd running, with `monitor: {{listen: \"{}\"}}` in its file? "
                      "--address or IQD_MONITOR name another address",
                      to.text(), reason, to.text())),
      why(std::move(reason)) {}

HttpReply exchange(const MonitorAddress& to, const std::string& request, std::chrono::milliseconds patience,
                   std::size_t largest) {
  const Clock::time_point until = Clock::now() + patience;
  const Socket socket = connected(to, until);
  // A refusal may come before all was sent.
  send_all(socket, request, until);
  const std::string bytes = receive_all(socket, until, largest);
  if (bytes.empty()) throw SetupError(fmt::format("{} gave no answer", to.text()));
  HttpReply reply;
  const std::size_t head = bytes.find("\r\n\r\n");
  const std::size_t space = bytes.find(' ');
  if (!bytes.starts_with("HTTP/1.") || head == bytes.npos || space > head)
    throw SetupError(
        fmt::format("{} does not answer as an HTTP server does; is it the port of a `monitor`?", to.text()));
  std::from_chars(bytes.data() + space + 1, bytes.data() + head, reply.status);
  reply.body = bytes.substr(head + 4);
  return reply;
}

}  // namespace iqd
