// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace iqd::radio {

/// Lets one thread wait, and another end that wait, or the next one, early.
class Pause {
 public:
  void wait(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [this] { return interrupted_; });
    interrupted_ = false;
  }
  void interrupt() noexcept {
    {
      const std::lock_guard lock(mutex_);
      interrupted_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;  // under mutex_
};

}  // namespace iqd::radio
