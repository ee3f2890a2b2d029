// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace iqd {

/// Signals, and calls from other threads, as something to wait for. Signals are blocked in every thread that is started
/// later.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int file() const noexcept { return file_; }
  /// The next signal, or 0 after a tick or a `wake`.
  int wait() const;
  /// Any thread.
  void wake() const noexcept;
  /// When a signal to stop came that is still to be handed out by `wait`; 0: none (steady clock). Any thread.
  std::int64_t stop_asked_ns() const noexcept { return stop_asked_ns_; }

 private:
  friend class EndOnSignal;
  mutable std::atomic<std::int64_t> stop_asked_ns_{0};
  int file_;
  int woken_;
};

/// Opening devices may take long, or for ever where a driver hangs: as long as this lives, SIGINT or SIGTERM end the
/// process, and `look` is called each tick, in a thread of its own.
class EndOnSignal {
 public:
  enum class When : std::uint8_t {
    at_once,          // nothing runs yet: exit 0
    patience_is_out,  // something runs: after 4 s, exit 1; where this is over before, the signal is passed on
  };
  EndOnSignal(const Signals& signals, When when, std::function<void()> look);
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

 private:
  void watch(const Signals& signals, When when) const;
  bool is_over_within(int ms) const;

  int over_;
  std::function<void()> look_;
  std::thread thread_;
};

}  // namespace iqd
