// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// The plan that blocks start with. Plans that were replaced live until the blocks that they started have been sent.
class CurrentPlan {
 public:
  explicit CurrentPlan(const Plan& first) : current_(&first) {}
  /// Any thread.
  const Plan& get() const noexcept { return *current_.load(std::memory_order_acquire); }
  /// For one thread. `offered` blocks may use plans before this one; `sent` blocks use none any more.
  void replace(std::unique_ptr<Plan> plan, std::uint64_t offered, std::uint64_t sent) {
    current_.store(plan.get(), std::memory_order_release);
    replaced_.push_back({std::exchange(owned_, std::move(plan)), offered});
    std::erase_if(replaced_, [sent](const Replaced& r) { return sent >= r.needed_until; });
  }

 private:
  struct Replaced {
    std::unique_ptr<Plan> plan;
    std::uint64_t needed_until;  // blocks sent
  };
  std::atomic<const Plan*> current_;
  std::unique_ptr<Plan> owned_;
  std::vector<Replaced> replaced_;
};

}  // namespace iqd
