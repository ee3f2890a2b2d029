// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/format.hpp"

namespace iqd::sim {

/// The stream of one direction; a device has at most one in each.
struct Stream {
  int direction = 0;
  Format format = Format::cf32;
  std::vector<std::size_t> channels;
  bool open = false;
  std::atomic<bool> active{false};
  std::atomic<std::int64_t> next{0};  // position of the next sample
  bool in_burst = false;              // transmit: the next samples continue the burst
  std::vector<cf32> scratch;
};

}  // namespace iqd::sim
