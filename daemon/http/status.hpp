// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// One JSON object on one line.
std::string status_json(const std::vector<PipelineStatus>& pipelines, double uptime_s, bool final);
/// A line a pipeline for a person: rate, blocks, drops by reason, latency of the time since `before`.
std::string status_lines(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                         double seconds);

/// One line of all: rates since `before`, and what was dropped.
std::string status_sentence(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                            double seconds);

}  // namespace iqd
