// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// warp_guard: the module starts it when it transmits. It sleeps, and sends its last commands when the other end of its
// standard input is closed or silent. Only SIGKILL ends it earlier.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <vector>

#include "radio/soapy-modules/warp/guard/message.hpp"

namespace {

using iqd::warp::guard::Kind;
using iqd::warp::guard::Message;

constexpr int kTimes = 3;  // packets get lost
constexpr timespec kPause{0, 20'000'000};

void say(const std::vector<Message>& words) {
  ::close(STDIN_FILENO);  // a program that returns too late notices this, and waits for this process to end
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  for (int i = 0; i < kTimes; ++i) {
    for (const Message& w : words)
      ::sendto(socket, w.packet, w.size, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&w.to), sizeof w.to);
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace

int main() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
  ::close_range(STDERR_FILENO + 1, ~0u, 0);
  std::vector<Message> words;
  std::int64_t patience_ns = 5'000'000'000;
  for (;;) {
    pollfd other{STDIN_FILENO, POLLIN, 0};
    const timespec time{patience_ns / 1'000'000'000, patience_ns % 1'000'000'000};
    Message message;
    if (::ppoll(&other, 1, &time, nullptr) <= 0 ||
        ::recv(STDIN_FILENO, &message, sizeof message, 0) != static_cast<ssize_t>(sizeof message))
      return say(words), 0;
    if (message.kind == Kind::dismissed) return 0;
    if (message.kind == Kind::words) words.push_back(message);
    if (message.kind == Kind::begin) patience_ns = message.patience_ns;
  }
}
