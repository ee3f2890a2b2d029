// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

constexpr int kTickMs = 50;
/// Half a second more is left for the stop itself: 5 s are the most that SIGTERM may take.
constexpr int kPatienceMs = 4000;

}  // namespace

Signals::Signals() : woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, s);
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

EndOnSignal::EndOnSignal(const Signals& signals, When when, std::function<void()> look)
    : over_(::eventfd(0, EFD_CLOEXEC)),
      look_(std::move(look)),
      thread_([this, &signals, when] { watch(signals, when); }) {}

void EndOnSignal::watch(const Signals& signals, When when) const {
  pollfd files[] = {{signals.file(), POLLIN, 0}, {over_, POLLIN, 0}};
  bool hangs_up = false;
  int signal = 0;
  while (signal != SIGINT && signal != SIGTERM) {
    const bool some = ::poll(files, 2, kTickMs) > 0;
    if (some && files[1].revents) {
      if (hangs_up) ::kill(::getpid(), SIGHUP);
      return;
    }
    look_();
    signal = some ? signals.wait() : 0;
    hangs_up = hangs_up || signal == SIGHUP;
  }
  if (when == When::at_once) {
    log::info("stopped before the start");
    std::_Exit(static_cast<int>(Exit::ok));
  }
  signals.stop_asked_ns_ = steady_ns();
  if (is_over_within(kPatienceMs)) {
    ::kill(::getpid(), signal);
    return;
  }
  log::warn("stopped in the midst of a change that takes too long: ending at once");
  std::_Exit(static_cast<int>(Exit::failed));
}

bool EndOnSignal::is_over_within(int ms) const {
  pollfd file{over_, POLLIN, 0};
  return ::poll(&file, 1, ms) > 0;
}

EndOnSignal::~EndOnSignal() {
  ::eventfd_write(over_, 1);
  thread_.join();
  ::close(over_);
}

}  // namespace iqd
