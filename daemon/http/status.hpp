// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/http/service.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

/// One JSON object on one line.
std::string status_json(const std::vector<PipelineStatus>& pipelines, double uptime_s, bool final,
                        const std::optional<WorkStatus>& work = {});
/// The same pipeline's earlier status; empty if it was started since then.
PipelineStatus earlier_status(const PipelineStatus& now, const std::vector<PipelineStatus>& before);

/// One line for all pipelines: rates since `before`, and what was lost or dropped.
std::string status_sentence(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                            double seconds);

}  // namespace iqd
