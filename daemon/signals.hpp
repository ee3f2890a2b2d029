// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Setting up may take long, or for ever where a driver hangs: as long as this lives, a signal ends the process.
class EndOnSignal {
 public:
  explicit EndOnSignal(const Signals& signals);
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

 private:
  int over_;
  std::thread thread_;
};

}  // namespace iqd
