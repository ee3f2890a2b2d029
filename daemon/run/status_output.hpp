// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/run/run_report.hpp"
#include "daemon/terminal/live_area.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

/// What `iqd run` says besides its log: what it serves, the status once a second on standard output, and a summary.
/// Times are of the steady clock. One thread.
class StatusOutput {
 public:
  /// `format`: json, table or none; empty: a table if standard output is a terminal.
  explicit StatusOutput(std::string format);
  /// The daemon has started with these pipelines.
  void begin(std::vector<PipelineStatus> statuses, std::int64_t now_ns);
  /// Logs what is served, if it differs from what was last logged.
  void serves(const std::vector<Served>& served);
  bool is_due(std::int64_t now_ns) const noexcept { return now_ns - std::max(shown_ns_, held_ns_) >= kEveryNs; }
  /// The last status may come soon: none is due for a second, so that it does not come twice.
  void hold(std::int64_t now_ns) noexcept { held_ns_ = held_ns_ ? held_ns_ : now_ns; }
  void show(std::vector<PipelineStatus> statuses, double uptime_s);
  /// The daemon exits.
  void end(const std::vector<PipelineStatus>& statuses, double uptime_s);
  /// One sentence on what has changed since it was shown last.
  std::string sentence(const std::vector<PipelineStatus>& statuses, std::int64_t now_ns) const;

 private:
  static constexpr std::int64_t kEveryNs = 1'000'000'000;
  double seconds_since_shown(std::int64_t now_ns) const;
  void show_table(const std::vector<PipelineStatus>& statuses, double seconds);

  std::string format_;
  terminal::Terminal terminal_;
  std::optional<terminal::LiveArea> area_;  // a table on a terminal is redrawn
  int lines_to_header_ = 0;
  std::vector<PipelineStatus> shown_;
  std::int64_t shown_ns_ = 0;
  std::int64_t held_ns_ = 0;  // 0: not yet
  std::vector<std::string> served_;
};

}  // namespace iqd
