// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/backend.hpp"
#include "base/pool.hpp"

namespace iqd {

struct EngineOptions {
  int lanes = 1;  // 0: all blocks go to other hosts
  int slots = 8;
  std::int64_t ring_samples = 0;  // at least; rounded up to what the ring needs
  int priority = 0;
  int urgency = 0;  // on a device
  std::vector<int> cpus{};
  Wait wait = Wait::block;  // of the publisher, and of threads that wait for a device
  int time_every = 0;       // the steps of one in so many blocks are timed; 0: never
  bool watched = false;     // the live page may look at the source and at results
};

/// Where a plan runs: on the host, and on each of these devices, which share the blocks.
struct EngineBackends {
  std::shared_ptr<Backend> host;
  std::vector<std::shared_ptr<Backend>> devices{};
  std::vector<std::shared_ptr<const DevicePart>> parts{};  // of each device; empty or null: all of it
  std::shared_ptr<Pool> pool{};                            // other hosts that share the blocks; null: none

  /// The backend whose shared memory all of them can use.
  Backend& shared() const noexcept { return devices.empty() ? *host : *devices.front(); }
};

}  // namespace iqd
