// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace iqd::testing {

/// A connection to 127.0.0.1 that sends any bytes.
class HttpClient {
 public:
  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    // Closed with RST, since otherwise a hundred thousand of them would use up all ports.
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ~HttpClient() { ::close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const noexcept { return connected_; }
  /// False if the other end has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end() { ::shutdown(socket_, SHUT_WR); }
  /// One answer, head and body; less if the other end closes or is silent for this time. `bodiless` after HEAD.
  std::string receive(int patience_ms = 30000, bool bodiless = false) {
    for (;;) {
      const std::size_t head = buffer_.find("\r\n\r\n");
      if (head != buffer_.npos) {
        const std::size_t at = buffer_.find("Content-Length: ");
        const std::size_t body = at < head && !bodiless ? std::strtoul(buffer_.c_str() + at + 16, nullptr, 10) : 0;
        if (buffer_.size() >= head + 4 + body) return taken(head + 4 + body);
      }
      if (!more(patience_ms)) return taken(buffer_.size());
    }
  }
  /// Reads everything until the other end closes; false if it does not.
  bool drain(int patience_ms = 30000) {
    while (more(patience_ms)) buffer_.clear();
    return closed_;
  }

 private:
  bool more(int patience_ms) {
    pollfd p{socket_, POLLIN, 0};
    if (::poll(&p, 1, patience_ms) <= 0) return false;
    char bytes[4096];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    closed_ = got <= 0;
    if (!closed_) buffer_.append(bytes, static_cast<std::size_t>(got));
    return !closed_;
  }
  std::string taken(std::size_t n) {
    std::string answer = buffer_.substr(0, n);
    buffer_.erase(0, n);
    return answer;
  }

  int socket_;
  bool connected_ = false;
  bool closed_ = false;
  std::string buffer_;
};

/// The answer to one request on its own connection.
inline std::string ask(int port, std::string_view bytes, bool bodiless = false) {
  HttpClient client(port);
  client.send(bytes);
  return client.receive(30000, bodiless);
}

}  // namespace iqd::testing
