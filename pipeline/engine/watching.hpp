// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pipeline/engine/block_work.hpp"
#include "pipeline/meters/counters.hpp"
#include "pipeline/watch/watches.hpp"

namespace iqd {

/// Shows finished blocks to the outlets of the live page. For the publisher's thread, except for `ports`. While nobody
/// looks, it reads one number per port and does nothing else. Never allocates, locks or waits.
class Watching {
 public:
  /// `is_on`: false if there is no page.
  Watching(const Plan& plan, const Counters& counters, bool is_on);
  /// The block's samples are still in the ring.
  void see_source(const BlockWork& work) noexcept;
  /// The block's results are in its slot.
  void see_results(const BlockWork& work) noexcept;

  /// Any thread.
  const std::vector<WatchedPort>& ports() const noexcept { return ports_; }

 private:
  void see(const WatchedPort& port, const BlockWork& work) noexcept;
  std::uint64_t newly_clipped() noexcept;

  const Plan& plan_;
  const Counters& counters_;
  const std::vector<WatchedPort> ports_;
  std::vector<std::uint64_t> clipped_;  // per channel, as last seen
  std::vector<FactColumn> facts_;       // of one message
};

}  // namespace iqd
