// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// The plan for new blocks. A replaced plan lives until the blocks that started with it have been sent.
class CurrentPlan {
 public:
  explicit CurrentPlan(const Plan& first) : current_(&first), places_(places_of(first)) {}
  /// Any thread.
  const Plan& get() const noexcept { return *current_.load(std::memory_order_acquire); }
  /// Any thread: where its ports lie in the spectrum.
  std::vector<PortPlace> places() const {
    const std::lock_guard lock(mutex_);
    return places_;
  }
  /// One thread. The first `offered` blocks may use earlier plans; the first `sent` of them are done.
  void replace(std::unique_ptr<Plan> plan, std::uint64_t offered, std::uint64_t sent) {
    std::vector<PortPlace> places = places_of(*plan);
    current_.store(plan.get(), std::memory_order_release);
    replaced_.push_back({std::exchange(owned_, std::move(plan)), offered});
    std::erase_if(replaced_, [sent](const Replaced& r) { return sent >= r.needed_until; });
    const std::lock_guard lock(mutex_);
    places_ = std::move(places);
  }

 private:
  struct Replaced {
    std::unique_ptr<Plan> plan;
    std::uint64_t needed_until;  // blocks sent
  };
  std::atomic<const Plan*> current_;
  std::unique_ptr<Plan> owned_;
  std::vector<Replaced> replaced_;
  mutable std::mutex mutex_;  // of a copy: a status may outlive the plan
  std::vector<PortPlace> places_;
};

}  // namespace iqd
