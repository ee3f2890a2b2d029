// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "pipeline/engine/engine.hpp"
#include "pipeline/intake/block_cutter.hpp"

namespace iqd {

/// Hands complete blocks to the engine, and knows how many samples its ring has room for. The radio thread, except
/// where noted.
class BlockFeed {
 public:
  BlockFeed(Engine& engine, BlockCutter& cutter) : engine_(&engine), cutter_(cutter) {}

  /// Any thread: the engine that gets the blocks.
  Engine& engine() const noexcept { return *engine_.load(std::memory_order_acquire); }
  void change_to(Engine& next) noexcept { engine_.store(&next, std::memory_order_release); }

  /// Between two blocks: whether there is room for all of the next one.
  bool has_room() const noexcept;
  /// How many samples the driver may write in one call, from the current position on. `keeps_spare`: leaves room for a
  /// gap before them of up to a block.
  std::int64_t most_at_once(bool keeps_spare) const noexcept;
  /// Offers the blocks that the cutter has completed; waits until the engine takes them.
  void offer_complete();

 private:
  std::atomic<Engine*> engine_;
  BlockCutter& cutter_;
};

}  // namespace iqd
