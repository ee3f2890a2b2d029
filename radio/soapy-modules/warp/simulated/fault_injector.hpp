// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/simulated/bytes.hpp"
#include "radio/soapy-modules/warp/simulated/options.hpp"

namespace iqd::warp_node {

/// Decides which packets and triggers a node loses, and disturbs its packets of samples. Counts each kind of event, so
/// that every N-th fails. One thread.
class FaultInjector {
 public:
  explicit FaultInjector(const Faults& faults);

  /// Whether the node sends nothing now.
  bool deaf() const;
  bool loses_command() { return due(faults_.lose_commands, commands_); }
  bool loses_trigger() { return due(faults_.lose_triggers, triggers_); }
  bool loses_written() { return due(faults_.lose_written, written_); }
  /// How much later than due a capture is ready, in seconds.
  double late_s() const noexcept { return faults_.late_s; }
  /// Applies the faults to the packets of a reply.
  std::vector<Datagram> disturb(std::vector<Datagram> packets);

 private:
  static bool due(int every, int& counter) { return every > 0 && ++counter % every == 0; }

  Faults faults_;
  std::int64_t began_ns_;
  // How many came so far:
  int commands_ = 0, triggers_ = 0, written_ = 0;
  int lost_ = 0, repeated_ = 0, swapped_ = 0, cut_ = 0, foreign_ = 0;  // candidates for these faults
};

}  // namespace iqd::warp_node
