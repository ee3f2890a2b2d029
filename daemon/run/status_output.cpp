// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/status_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/http/status.hpp"
#include "daemon/run/status_table.hpp"

namespace iqd {
namespace {

constexpr int kLinesPerHeader = 20;  // in a file

}  // namespace

StatusOutput::StatusOutput(std::string format)
    : format_(std::move(format)), terminal_(terminal::terminal_on(STDOUT_FILENO)), shown_ns_(steady_ns()) {
  if (format_.empty()) format_ = terminal_.is_one ? "table" : "none";
  if (format_ == "table" && terminal_.can_redraw) area_.emplace(STDOUT_FILENO);
}

void StatusOutput::begin(std::vector<PipelineStatus> statuses, std::int64_t now_ns) {
  shown_ = std::move(statuses);
  shown_ns_ = now_ns;
}

/// A block on a terminal; elsewhere a line for each endpoint.
void StatusOutput::serves(const std::vector<Served>& served) {
  const terminal::Terminal log = terminal::terminal_on(STDERR_FILENO);
  const int columns = log.is_one ? terminal::size_of(STDERR_FILENO).columns : 0;
  std::vector<std::string> lines =
      served_lines(served, columns, terminal::Paint(log.colours != terminal::Colours::none));
  if (lines == served_) return;
  served_ = std::move(lines);
  if (log.is_one)
    log::info("serving\n{}", fmt::join(served_, "\n"));
  else
    for (const std::string& line : served_) log::info("{}", line);
}

double StatusOutput::seconds_since_shown(std::int64_t now_ns) const {
  return std::max(1e-3, static_cast<double>(now_ns - shown_ns_) / 1e9);
}

std::string StatusOutput::sentence(const std::vector<PipelineStatus>& statuses, std::int64_t now_ns) const {
  return status_sentence(statuses, shown_, seconds_since_shown(now_ns));
}

void StatusOutput::show(std::vector<PipelineStatus> statuses, double uptime_s) {
  const std::int64_t now_ns = steady_ns();
  if (format_ == "json")
    fmt::print("{}\n", status_json(statuses, uptime_s, false));
  else if (format_ == "table")
    show_table(statuses, seconds_since_shown(now_ns));
  std::fflush(stdout);
  shown_ = std::move(statuses);
  shown_ns_ = now_ns;
}

void StatusOutput::show_table(const std::vector<PipelineStatus>& statuses, double seconds) {
  std::vector<StatusFacts> facts;
  for (const PipelineStatus& now : statuses) facts.push_back(facts_of(now, earlier_status(now, shown_), seconds));
  if (area_) {
    terminal::Size room = terminal::size_of(STDOUT_FILENO);
    // The last column and the last line stay free, so that nothing wraps or scrolls.
    room.columns = std::max(room.columns - 1, 1);
    room.rows = std::max(room.rows - 1, 1);
    area_->show(status_table(facts, facts_of(open_radios()), room,
                             terminal::Paint(terminal_.colours != terminal::Colours::none)));
    return;
  }
  for (const StatusFacts& pipeline : facts) {
    if (lines_to_header_-- <= 0) {
      fmt::print("{}\n", status_header());
      lines_to_header_ = kLinesPerHeader - 1;
    }
    fmt::print("{}\n", status_line(pipeline));
  }
}

/// The summary takes the place of the table; without a table it is part of the log.
void StatusOutput::end(const std::vector<PipelineStatus>& statuses, double uptime_s) {
  if (area_) area_->clear();
  area_.reset();
  if (format_ == "json") fmt::print("{}\n", status_json(statuses, uptime_s, true));
  const int columns = terminal_.is_one ? std::max(terminal::size_of(STDOUT_FILENO).columns - 1, 20) : 120;
  for (const PipelineStatus& s : statuses) {
    if (format_ != "table") {
      for (const std::string& line : summary_lines(s, uptime_s)) log::info("{}", line);
      continue;
    }
    const terminal::Paint paint(terminal_.colours != terminal::Colours::none);
    fmt::print("{}\n", fmt::join(summary_block(s, uptime_s, columns, paint), "\n"));
  }
  std::fflush(stdout);
}

}  // namespace iqd
