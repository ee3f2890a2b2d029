// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

constexpr int kTickMs = 50;

}  // namespace

Signals::Signals() : woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a full disk
  file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  ::close(file_);
  ::close(woken_);
}

int Signals::wait() const {
  pollfd files[] = {{file_, POLLIN, 0}, {woken_, POLLIN, 0}};
  if (::poll(files, 2, kTickMs) <= 0) return 0;
  if (eventfd_t count = 0; files[1].revents) ::eventfd_read(woken_, &count);
  signalfd_siginfo info{};
  return ::read(file_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void Signals::wake() const noexcept {
  ::eventfd_write(woken_, 1);
}

EndOnSignal::EndOnSignal(const Signals& signals)
    : over_(::eventfd(0, EFD_CLOEXEC)), thread_([this, &signals] {
        pollfd files[] = {{signals.file(), POLLIN, 0}, {over_, POLLIN, 0}};
        for (;;) {
          ::poll(files, 2, -1);
          if (files[1].revents) return;
          const int signal = signals.wait();
          if (signal != SIGINT && signal != SIGTERM) continue;
          log::info("stopped before the start");
          std::_Exit(static_cast<int>(Exit::ok));
        }
      }) {}

EndOnSignal::~EndOnSignal() {
  ::eventfd_write(over_, 1);
  thread_.join();
  ::close(over_);
}

}  // namespace iqd
