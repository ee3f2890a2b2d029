// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/files/event_file.hpp"

namespace iqd {

/// Waits for signals and for calls from other threads. Signals are blocked in every thread that is started later.
class Signals {
 public:
  /// Throws SetupError.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int file() const noexcept { return file_; }
  /// The next signal, or 0 after a tick or a `wake`.
  int wait() const;
  /// Any thread.
  void wake() const noexcept { woken_.set(); }
  /// When a stop signal came that `wait` has not returned yet; 0: none (steady clock). Any thread.
  std::int64_t stop_asked_ns() const noexcept { return stop_asked_ns_; }

 private:
  friend class EndOnSignal;
  mutable std::atomic<std::int64_t> stop_asked_ns_{0};
  EventFile woken_;
  int file_;
};

/// Opening devices may take long, or forever if a driver hangs. During a `Span`, SIGINT or SIGTERM end the process, and
/// a separate thread calls `look` at each tick. That thread and all it needs exist from the start, so a span can always
/// begin.
class EndOnSignal {
 public:
  enum class When : std::uint8_t {
    at_once,          // nothing runs yet: exit 0
    patience_is_out,  // something runs: exit 1 after 4 s; if the span ends earlier, the signal is passed on
  };
  /// Throws SetupError.
  EndOnSignal(const Signals& signals, std::function<void()> look);
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

  /// One at a time.
  class Span {
   public:
    Span(EndOnSignal& owner, When when);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    EndOnSignal& owner_;
  };

 private:
  void serve();
  void watch(When when) const;
  bool is_over_within(int ms) const;

  const Signals& signals_;
  std::function<void()> look_;
  EventFile over_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<When> span_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace iqd
