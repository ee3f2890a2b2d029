// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// One JSON object on one line.
std::string status_json(const std::vector<PipelineStatus>& pipelines, double uptime_s, bool final);
/// One human-readable line for each pipeline: rate and latency since `before`, blocks, drops by reason.
std::string status_lines(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                         double seconds);

/// One line for all pipelines: rates since `before`, and what was lost or dropped.
std::string status_sentence(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                            double seconds);

}  // namespace iqd
