// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "daemon/live/trace.hpp"
#include "daemon/live/value_counts.hpp"

namespace iqd::live {

/// The latency of a pipeline's blocks, from its histogram.
class LatencyTrace final : public Trace {
 public:
  LatencyTrace(const std::string& pipeline, double deadline_s);
  const std::string& pipeline() const noexcept { return pipeline_; }
  /// What has been recorded since the previous call; the first call only remembers.
  void show_latency(const Histogram::Snapshot& now, double time_s, LiveHub& hub);
  /// Nobody wants it: the next call is the first one again.
  void forget() noexcept { before_.reset(); }
  void show(const WatchCopy& /*copy*/, LiveHub& /*hub*/) override {}

 private:
  const std::string pipeline_;
  const LatencyBins bins_;
  std::optional<Histogram::Snapshot> before_;
};

}  // namespace iqd::live
