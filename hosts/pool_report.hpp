// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hosts/link_config.hpp"
#include "hosts/pool_messages.hpp"
#include "hosts/work_link.hpp"

namespace iqd::hosts {

/// What a user of a pool sees of it.
struct PoolReport {
  std::string server;
  double round_trip_s = 0;
  std::size_t most_bytes = 0;        // of a message
  std::int64_t reserved_bytes = -1;  // of the server's memory or disk, for blocks and results; -1: there is no pool, or
                                     // this key may not see it
  std::int64_t waiting = 0;          // blocks
  std::optional<HomeFacts> home;
  std::vector<HereMessage> workers;
};

/// Connects, and listens for as long as workers take to report. Throws SetupError.
PoolReport look_at_pool(const LinkConfig& config, const std::string& pool);

}  // namespace iqd::hosts
