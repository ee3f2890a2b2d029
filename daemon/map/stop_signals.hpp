// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace iqd {

/// Notices SIGINT and SIGTERM, which do not end this process as long as it exists.
class StopSignals {
 public:
  StopSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGTERM);
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
