// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

 private:
  int file_;
  int woken_;
};

/// Opening devices may take long, or for ever where a driver hangs: as long as this lives, SIGINT or SIGTERM end the
/// process, and `look` is called each tick, in a thread of its own.
class EndOnSignal {
 public:
  enum class When : std::uint8_t {
    at_once,          // nothing runs yet: exit 0
    patience_is_out,  // something runs: after 5 s, exit 1; where this is over before, the signal is passed on
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
