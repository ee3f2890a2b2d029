// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/error.hpp"
#include "daemon/run/signals.hpp"

namespace iqd {

/// Watches over the end of shutdown, when the main loop no longer waits for signals: libraries are closing sockets and
/// devices, which may take as long as peers wish. The process exits 4.5 s after the first signal, or at a second one.
class LastWatch {
 public:
  /// `signals` outlives it.
  explicit LastWatch(const Signals& signals) : signals_(signals) {}
  ~LastWatch();
  LastWatch(const LastWatch&) = delete;
  LastWatch& operator=(const LastWatch&) = delete;

  /// Call it once. `asked_ns`: when the first signal came; 0 if none has. `exit`: the exit code.
  void begin(std::int64_t asked_ns, Exit exit);

 private:
  void watch(std::int64_t asked_ns, Exit exit) const;

  const Signals& signals_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace iqd
