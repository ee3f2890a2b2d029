// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// The status on standard output, once a second. Times are of the steady clock. One thread.
class StatusOutput {
 public:
  /// `format`: json, table or none; empty: a table if standard output is a terminal.
  explicit StatusOutput(std::string format);
  /// The daemon has started with these pipelines.
  void begin(std::vector<PipelineStatus> statuses, std::int64_t now_ns);
  bool is_due(std::int64_t now_ns) const noexcept { return now_ns - std::max(shown_ns_, held_ns_) >= kEveryNs; }
  /// The last status may come soon: none is due for a second, so that it does not come twice.
  void hold(std::int64_t now_ns) noexcept { held_ns_ = held_ns_ ? held_ns_ : now_ns; }
  /// `last`: the daemon exits.
  void show(std::vector<PipelineStatus> statuses, double uptime_s, bool last);
  /// One sentence on what has changed since it was shown last.
  std::string sentence(const std::vector<PipelineStatus>& statuses, std::int64_t now_ns) const;

 private:
  static constexpr std::int64_t kEveryNs = 1'000'000'000;
  double seconds_since_shown(std::int64_t now_ns) const;

  std::string format_;
  std::vector<PipelineStatus> shown_;
  std::int64_t shown_ns_ = 0;
  std::int64_t held_ns_ = 0;  // 0: not yet
};

}  // namespace iqd
