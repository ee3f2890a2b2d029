// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/status_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "daemon/http/status.hpp"

namespace iqd {

StatusOutput::StatusOutput(std::string format) : format_(std::move(format)), shown_ns_(steady_ns()) {
  if (format_.empty()) format_ = ::isatty(STDOUT_FILENO) ? "table" : "none";
}

void StatusOutput::begin(std::vector<PipelineStatus> statuses, std::int64_t now_ns) {
  shown_ = std::move(statuses);
  shown_ns_ = now_ns;
}

double StatusOutput::seconds_since_shown(std::int64_t now_ns) const {
  return std::max(1e-3, static_cast<double>(now_ns - shown_ns_) / 1e9);
}

std::string StatusOutput::sentence(const std::vector<PipelineStatus>& statuses, std::int64_t now_ns) const {
  return status_sentence(statuses, shown_, seconds_since_shown(now_ns));
}

void StatusOutput::show(std::vector<PipelineStatus> statuses, double uptime_s, bool last) {
  const std::int64_t now_ns = steady_ns();
  if (format_ == "json")
    fmt::print("{}\n", status_json(statuses, uptime_s, last));
  else if (format_ == "table")
    fmt::print("{}", status_lines(statuses, shown_, seconds_since_shown(now_ns)));
  std::fflush(stdout);
  shown_ = std::move(statuses);
  shown_ns_ = now_ns;
}

}  // namespace iqd
