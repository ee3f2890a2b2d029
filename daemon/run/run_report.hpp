// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/run/status_facts.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

/// Where results can be had: an endpoint with its topics, the monitor's address, or a sink.
struct Served {
  std::string where;
  std::vector<std::string> what;  // `spectrum (spectrum.out)`
};

/// What the pipelines serve, endpoint by endpoint, with the ports that the system chose. `monitor` may be empty;
/// `has_page`: it serves the live page.
std::vector<Served> served_by(const std::vector<std::shared_ptr<Pipeline>>& pipelines, const std::string& monitor,
                              bool has_page);
/// A line for each: `tcp://127.0.0.1:5555  spectrum (spectrum.out), peaks (peak_finder.out)`. At most `columns` wide; 0:
/// any width.
std::vector<std::string> served_lines(const std::vector<Served>& served, int columns, terminal::Paint paint);

/// What a pipeline did, at its end: a block for a terminal of `columns`.
std::vector<std::string> summary_block(const PipelineStatus& status, double seconds, int columns,
                                       terminal::Paint paint);
/// The same for the journal: a line, and one for each stage with events and each thing with errors.
std::vector<std::string> summary_lines(const PipelineStatus& status, double seconds);

}  // namespace iqd
