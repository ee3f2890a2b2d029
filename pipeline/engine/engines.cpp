// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/engines.hpp"

#include <algorithm>
#include <utility>

namespace iqd {

std::shared_ptr<Engine> Engines::replace(std::shared_ptr<Engine> by) {
  const std::lock_guard lock(mutex_);
  return std::exchange(running_, std::move(by));
}

void Engines::tidy() {
  std::erase_if(retired_, [](const std::shared_ptr<Engine>& e) { return e->relieved(); });
}

void Engines::interrupt() noexcept {
  for (const auto& engine : retired_) engine->interrupt();
  if (running_) running_->interrupt();
}

void Engines::shut_down() {
  for (const auto& engine : retired_) engine->shut_down();
  if (running_) running_->shut_down();
}

std::int64_t Engines::waiting_ns() const noexcept {
  std::int64_t longest = running_->waiting_ns();
  for (const auto& engine : retired_) longest = std::max(longest, engine->waiting_ns());
  return longest;
}

std::shared_ptr<Engine> Engines::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void Engines::join() const {
  for (std::shared_ptr<Engine> last; last != running();) {
    last = running();
    last->join();
  }
}

}  // namespace iqd
