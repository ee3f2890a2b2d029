// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/watch/watch_outlet.hpp"

namespace iqd {

/// A port as the live page watches it.
struct WatchedPort {
  std::shared_ptr<WatchOutlet> outlet;
  OutputIndex output = kNoOutput;  // of the plan; none: the source
  double row_s = 0;                // usual distance between two rows
  bool in_db = false;              // its bins are decibels, not magnitudes
};

/// The outlets for the source and for all outputs of a plan that the page has a picture of, before `reserve`. Facts of
/// the same items are watched once.
std::vector<WatchedPort> make_watches(const Plan& plan);

/// The bytes that they take.
std::size_t watch_bytes(const Plan& plan);

}  // namespace iqd
