// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iqd {

/// Notifies the service manager: datagrams to $NOTIFY_SOCKET, as in sd_notify(3). Without that variable, calls do
/// nothing. No call waits: while the manager takes nothing, messages that must not be lost (all but `status` and
/// `alive`) are kept and sent with the next call. One thread at a time.
class Notify {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, so that a child cannot
  /// notify on behalf of the daemon. Call it while there is one thread.
  Notify();
  ~Notify();
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  /// Whether there is a service manager to notify.
  explicit operator bool() const noexcept { return file_ >= 0; }
  void ready() { send("READY=1", Loss::never); }
  /// One line for `systemctl status`.
  void status(std::string_view text);
  /// A reload has begun; `ready` ends it, whatever its outcome.
  void reloading();
  void stopping() { send("STOPPING=1", Loss::never); }
  /// Call it more often than every `watchdog_ns() / 2`; does nothing if the manager has no watchdog.
  void alive() {
    if (watchdog_ns_) send("WATCHDOG=1", Loss::allowed);
  }
  /// How long the manager waits for `alive` before it kills the daemon; none without a watchdog.
  std::optional<std::int64_t> watchdog_ns() const noexcept { return watchdog_ns_; }

 private:
  enum class Loss : std::uint8_t { allowed, never };
  void send(std::string_view message, Loss loss);

  int file_ = -1;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  std::optional<std::int64_t> watchdog_ns_;
  std::string kept_;  // lines that could not be sent
};

}  // namespace iqd
