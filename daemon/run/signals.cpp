// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/signals.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "daemon/run/end_at_once.hpp"

namespace iqd {
namespace {

constexpr int kTickMs = 50;
/// Leaves half a second for the stop itself, since iqd may take at most 5 s after SIGTERM.
constexpr int kPatienceMs = 4000;

}  // namespace

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is handled as a full disk
  file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw SetupError(fmt::format("cannot wait for signals: {}", std::strerror(errno)));
}

Signals::~Signals() {
  ::close(file_);
}

int Signals::wait() const {
  pollfd files[] = {{file_, POLLIN, 0}, {woken_.file(), POLLIN, 0}};
  if (::poll(files, 2, kTickMs) <= 0) return 0;
  if (files[1].revents) woken_.take();
  signalfd_siginfo info{};
  return ::read(file_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

EndOnSignal::EndOnSignal(const Signals& signals, std::function<void()> look)
    : signals_(signals), look_(std::move(look)) {
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& e) {
    throw SetupError(fmt::format("cannot start a thread: {}", e.what()));
  }
}

EndOnSignal::~EndOnSignal() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

EndOnSignal::Span::Span(EndOnSignal& owner, When when) : owner_(owner) {
  const std::lock_guard lock(owner_.mutex_);
  owner_.span_ = when;
  owner_.changed_.notify_all();
}

EndOnSignal::Span::~Span() {
  std::unique_lock lock(owner_.mutex_);
  owner_.over_.set();
  owner_.changed_.wait(lock, [this] { return !owner_.span_; });
}

void EndOnSignal::serve() {
  ::pthread_setname_np(::pthread_self(), "iqd-signals");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return span_ || ends_; });
    if (!span_) return;
    const When when = *span_;
    lock.unlock();
    watch(when);
    lock.lock();
    over_.take();
    span_.reset();
    changed_.notify_all();
  }
}

/// Until the span is over.
void EndOnSignal::watch(When when) const {
  pollfd files[] = {{signals_.file(), POLLIN, 0}, {over_.file(), POLLIN, 0}};
  bool hangs_up = false;
  int signal = 0;
  while (signal != SIGINT && signal != SIGTERM) {
    const bool some = ::poll(files, 2, kTickMs) > 0;
    if (some && files[1].revents) {
      if (hangs_up) ::kill(::getpid(), SIGHUP);
      return;
    }
    look_();
    signal = some ? signals_.wait() : 0;
    hangs_up = hangs_up || signal == SIGHUP;
  }
  if (when == When::at_once) {
    log::info("stopped while starting");
    end_at_once(Exit::ok);
  }
  signals_.stop_asked_ns_ = steady_ns();
  if (is_over_within(kPatienceMs)) {
    ::kill(::getpid(), signal);
    return;
  }
  log::warn("stopped during a change that takes too long: exiting immediately");
  end_at_once(Exit::failed);
}

bool EndOnSignal::is_over_within(int ms) const {
  pollfd file{over_.file(), POLLIN, 0};
  return ::poll(&file, 1, ms) > 0;
}

}  // namespace iqd
