// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace iqd::testing {

/// A peer that speaks ZMTP 3.0 without keys and without libzmq, so it can send what no library would.
class HostilePeer {
 public:
  /// `kind`: as the other side sees it, `SUB` or `PUSH`.
  HostilePeer(const std::string& endpoint, std::string_view kind) : file_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(file_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return;
    std::string greeting(64, '\0');
    greeting.replace(0, 1, "\xff").replace(9, 2, "\x7f\x03").replace(12, 4, "NULL");
    std::string ready = std::string("\x05READY\x0bSocket-Type") + std::string(3, '\0');
    ready += static_cast<char>(kind.size());
    ready += kind;
    say(greeting + '\x04' + static_cast<char>(ready.size()) + ready);
  }
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;
  ~HostilePeer() { ::close(file_); }

  static std::string frame(std::string_view text) {
    if (text.size() < 256) return std::string(1, '\0') + static_cast<char>(text.size()) + std::string(text);
    return announcement(text.size()) + std::string(text);
  }
  static std::string subscription(std::string_view topic) { return frame('\x01' + std::string(topic)); }
  /// The beginning of a long frame.
  static std::string announcement(std::uint64_t bytes) {
    std::string head(1, '\x02');
    for (int shift = 56; shift >= 0; shift -= 8) head += static_cast<char>(bytes >> shift & 0xff);
    return head;
  }
  /// False if the other side has closed.
  bool say(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Reads what has arrived, and returns whether the other side has closed.
  bool is_cut_off() const {
    char text[4096];
    ssize_t n = 0;
    while ((n = ::recv(file_, text, sizeof text, MSG_DONTWAIT)) > 0) {
    }
    return n == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int file_;
};

}  // namespace iqd::testing
