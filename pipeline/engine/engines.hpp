// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "pipeline/engine/engine.hpp"

namespace iqd {

/// The running engine of a pipeline, and those that it replaced, which wait until readers have released their results.
/// For the thread that makes changes, except where noted.
class Engines {
 public:
  /// The running engine; null before the first `replace`.
  Engine* get() const noexcept { return running_.get(); }
  Engine* operator->() const noexcept { return running_.get(); }

  /// Runs `by` from now on. Returns the previous engine, which is not kept.
  std::shared_ptr<Engine> replace(std::shared_ptr<Engine> by);
  /// Keeps a replaced engine until `tidy` finds that all its results have been released.
  void retire(std::shared_ptr<Engine> replaced) { retired_.push_back(std::move(replaced)); }
  void tidy();
  /// How many replaced engines are kept.
  std::size_t retired() const noexcept { return retired_.size(); }

  // All engines, the oldest first.
  void interrupt() noexcept;
  void shut_down();
  /// The longest that one of them has waited for a device.
  std::int64_t waiting_ns() const noexcept;

  // Any thread.
  std::shared_ptr<Engine> running() const;
  /// Returns when the running engine has ended, and no other has replaced it meanwhile.
  void join() const;

 private:
  mutable std::mutex mutex_;  // of the pointer, which other threads read
  std::shared_ptr<Engine> running_;
  std::vector<std::shared_ptr<Engine>> retired_;
};

}  // namespace iqd
