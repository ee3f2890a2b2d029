// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/error.hpp"
#include "daemon/run/signals.hpp"

namespace iqd {

/// Watches over the end, when nobody waits for signals any more: what still lets go of things is in the hands of
/// libraries, and may take as long as peers wish. 4.5 s after the first signal the process ends without them, and at
/// once with a second one.
class LastWatch {
 public:
  /// `signals` outlives it.
  explicit LastWatch(const Signals& signals) : signals_(signals) {}
  ~LastWatch();
  LastWatch(const LastWatch&) = delete;
  LastWatch& operator=(const LastWatch&) = delete;

  /// Once. `asked_ns`: when the first signal came; 0: none has. `exit`: the code that it would end with.
  void begin(std::int64_t asked_ns, Exit exit);

 private:
  void watch(std::int64_t asked_ns, Exit exit) const;

  const Signals& signals_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace iqd
