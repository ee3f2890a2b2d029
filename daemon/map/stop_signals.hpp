// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace iqd {

/// Notices signals that would end this process, and do not as long as it exists. Those that are ignored stay so (nohup).
class StopSignals {
 public:
  StopSignals() {
    ::sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction now {};
      if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&set_, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~StopSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether one comes within this time.
  bool within(int ms) const noexcept {
    const timespec most{ms / 1000, ms % 1000 * 1'000'000L};
    return ::sigtimedwait(&set_, nullptr, &most) > 0;
  }

 private:
  sigset_t set_{}, before_{};
};

}  // namespace iqd
