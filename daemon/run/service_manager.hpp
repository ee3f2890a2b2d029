// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "daemon/run/notify.hpp"

namespace iqd {

/// What the service manager is notified of, and how often. The main thread.
class ServiceManager {
 public:
  /// Sends READY once samples flow, then a status each second, and WATCHDOG while nothing hangs. `is_ready`,
  /// `is_healthy` and `status` are only asked when they are needed.
  template <class Ready, class Healthy, class Status>
  void update(std::int64_t now_ns, Ready is_ready, Healthy is_healthy, Status status) {
    if (!notify_) return;
    if (!ready_ && is_ready()) {
      notify_.ready();
      ready_ = true;
    }
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    if (now_ns - updated_ns_ < std::min(kSecondNs, notify_.watchdog_ns().value_or(4 * kSecondNs) / 4)) return;
    updated_ns_ = now_ns;
    notify_.status(status());
    if (is_healthy()) notify_.alive();
  }
  void reloading() { notify_.reloading(); }
  /// A reload has ended, whatever its outcome.
  void reloaded() {
    if (ready_) notify_.ready();
  }
  void stopping() { notify_.stopping(); }
  void status(const std::string& text) { notify_.status(text); }

 private:
  Notify notify_;
  std::int64_t updated_ns_ = 0;
  bool ready_ = false;
};

}  // namespace iqd
