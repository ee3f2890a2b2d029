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

#include "base/event_file.hpp"

namespace iqd {

/// Signals, and calls from other threads, as something to wait for. Signals are blocked in every thread that is started
/// later.
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
  /// When a signal to stop came that is still to be handed out by `wait`; 0: none (steady clock). Any thread.
  std::int64_t stop_asked_ns() const noexcept { return stop_asked_ns_; }

 private:
  friend class EndOnSignal;
  mutable std::atomic<std::int64_t> stop_asked_ns_{0};
  EventFile woken_;
  int file_;
};

/// Opening devices may take long, or for ever where a driver hangs: as long as a `Span` lives, SIGINT or SIGTERM end
/// the process, and `look` is called each tick, in a thread of its own. That thread and what it needs are there from
/// the start, so a span can always begin.
class EndOnSignal {
 public:
  enum class When : std::uint8_t {
    at_once,          // nothing runs yet: exit 0
    patience_is_out,  // something runs: after 4 s, exit 1; where this is over before, the signal is passed on
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
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::optional<When> span_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace iqd
