// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/slot_mask.hpp"
#include "pipeline/engine/block_work.hpp"
#include "pipeline/engine/engine_options.hpp"

namespace iqd {

/// The threads or device queues that blocks run in, each with memory of its own. Any thread may acquire and release.
class Lanes {
 public:
  Lanes(const Plan& plan, const EngineBackends& backends, const EngineOptions& options);

  /// A free lane, the first from `preferred` on, or -1.
  int try_acquire(int preferred) noexcept { return free_.try_acquire(preferred); }
  void release(int lane) noexcept { free_.release(lane); }
  Queue& queue(int lane) const noexcept { return *lanes_[static_cast<std::size_t>(lane)].queue; }
  /// Where the operations on these devices go: the same, or that for the parts of a mixed plan.
  Queue& queue(int lane, Side side) const noexcept {
    Queue* const apart = memory(lane).on(side).queue;
    return apart ? *apart : queue(lane);
  }
  /// How many graphs of its queues devices launch themselves.
  std::size_t resident(int lane) const noexcept;
  const LaneMemory& memory(int lane) const noexcept { return lanes_[static_cast<std::size_t>(lane)].memory; }
  /// The lane that is never free: for blocks that come back from other hosts, if there are such.
  int for_returned() const noexcept { return count(); }
  int count() const noexcept { return free_.slots(); }
  int busy() const noexcept { return free_.slots() - free_.available(); }
  /// Waits for their threads.
  void end() { lanes_.clear(); }

 private:
  struct Lane {
    std::array<Buffer, kSides> arenas;
    std::array<std::unique_ptr<Queue>, kMostGroups>
        devices;  // of a mixed plan: the lane's queue, a thread, waits for it
    std::unique_ptr<Queue> queue;
    LaneMemory memory;
  };
  static Lane make(std::size_t index, const Plan& plan, const EngineBackends& backends, const EngineOptions& options);
  static Lane make_for_returned(const Plan& plan, const EngineBackends& backends, const EngineOptions& options);
  static void add_device(Lane& lane, Side side, std::size_t turn, const Plan& plan, const EngineBackends& backends,
                         QueueOptions queue);

  SlotMask free_;
  std::vector<Lane> lanes_;
};

}  // namespace iqd
