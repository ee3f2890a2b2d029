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

/// Tells the service manager how the daemon fares: datagrams to $NOTIFY_SOCKET, as sd_notify(3) describes them. Without
/// that variable every call does nothing. No call waits: while the manager takes nothing, what must not be lost
/// (everything but `status` and `alive`) is kept and leaves with the next call. One thread at a time.
class Notify {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment, so that a child does
  /// not speak for the daemon. Call it while there is one thread.
  Notify();
  ~Notify();
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  /// Whether anybody listens.
  explicit operator bool() const noexcept { return file_ >= 0; }
  void ready() { send("READY=1", Loss::never); }
  /// One line for `systemctl status`.
  void status(std::string_view text);
  /// A new configuration is being read; `ready` ends it, whatever became of it.
  void reloading();
  void stopping() { send("STOPPING=1", Loss::never); }
  /// Call it more often than each `watchdog_ns() / 2`; where the manager does not watch, it does nothing.
  void alive() {
    if (watchdog_ns_) send("WATCHDOG=1", Loss::allowed);
  }
  /// How long the manager waits for `alive` before it kills the daemon; none where it does not watch.
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
