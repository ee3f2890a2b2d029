// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// What a block costs, depending on which side each of its parts runs. All times are microseconds.
struct BlockCost {
  /// Stages that run on one side together, as fused ones do.
  struct Part {
    double host_us = 0;
    double device_us = 0;
    std::optional<Side> fixed{};  // it can only run there
    double on(Side side) const noexcept { return side == Side::host ? host_us : device_us; }
  };
  /// Data that crosses once if a part on the other side reads it.
  struct Data {
    static constexpr std::size_t kHost = static_cast<std::size_t>(-1);
    std::size_t maker = kHost;           // kHost: it comes from the source
    std::vector<std::size_t> readers{};  // parts
    bool leaves = false;                 // the host reads it, too
    double to_device_us = 0;
    double to_host_us = 0;
  };
  std::vector<Part> parts;  // in the order in which they run
  std::vector<Data> data;
  double host_us = 0;    // once, if anything runs on the host
  double device_us = 0;  // for each run of parts on the device: to launch it and to wait
};

/// The side of each part.
using Sides = std::vector<Side>;

/// The predicted time of a block.
double time_of(const BlockCost& block, const Sides& sides);
/// What of it the host is busy.
double host_time_of(const BlockCost& block, const Sides& sides);
/// The sides with the least predicted time; of equal ones, more on the device.
Sides quickest(const BlockCost& block);
/// Everything on one side that can be there.
Sides all_on(const BlockCost& block, Side side);

}  // namespace iqd
