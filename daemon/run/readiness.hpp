// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"

namespace iqd {

using RunningPipelines = std::vector<std::shared_ptr<Pipeline>>;

/// What keeps samples from flowing, one line each; empty: ready.
std::vector<std::string> not_ready(const RunningPipelines& pipelines);
/// The same for what only a restart fixes.
std::vector<std::string> not_healthy(const RunningPipelines& pipelines);

}  // namespace iqd
