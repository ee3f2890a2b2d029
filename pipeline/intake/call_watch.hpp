// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace iqd {

/// Times calls into a driver, made by one thread, since they may never return.
class CallWatch {
 public:
  /// Returns what `f` returns. Its time counts from when `grace_ns` are over.
  template <class F> auto call(F f, std::int64_t grace_ns = 0) {
    const Call running(began_ns_, grace_ns);
    return f();
  }
  /// Any thread: nanoseconds that the current call has taken so far; 0: there is none.
  std::int64_t running_ns() const noexcept {
    const std::int64_t began = began_ns_.load(std::memory_order_acquire);
    return began ? steady_ns() - began : 0;
  }

 private:
  /// Stores when a call began, until it ends.
  class Call {
   public:
    Call(std::atomic<std::int64_t>& began_ns, std::int64_t grace_ns) : began_ns_(began_ns) {
      began_ns_.store(steady_ns() + grace_ns);
    }
    ~Call() { began_ns_.store(0); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::atomic<std::int64_t>& began_ns_;
  };

  std::atomic<std::int64_t> began_ns_{0};
};

}  // namespace iqd
