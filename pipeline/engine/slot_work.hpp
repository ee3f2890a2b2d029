// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/engine/engine.hpp"

namespace iqd {

/// The work of one result slot, and the lane that it runs in.
class Engine::SlotWork final : public BlockWork {
 public:
  SlotWork(Engine& engine, int slot)
      : BlockWork(engine.plan_, engine.carries_, *engine.backends_.host, engine.backends_.shared()),
        engine_(engine),
        slot_(slot) {}
  void finished(bool good) noexcept override {
    // Once marked done, the publisher may give this slot to another block at any moment.
    const int lane = lane_;
    Engine& engine = engine_;
    BlockWork::finished(good);
    engine.lane_finished(lane);
  }
  int slot() const noexcept { return slot_; }

 private:
  void step_times(std::size_t first_step, std::span<const std::int64_t> ns) noexcept override {
    for (std::size_t s = 0; s < ns.size(); ++s) engine_.step_times_[first_step + s].record(ns[s]);
  }

  friend class Engine;
  Engine& engine_;
  int slot_;
  int lane_ = -1;
};

}  // namespace iqd
