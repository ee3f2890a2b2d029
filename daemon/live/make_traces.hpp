// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "daemon/live/live_subject.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// All traces of a pipeline: the source first, then the ports, last its latency.
std::vector<std::unique_ptr<Trace>> make_traces(const LivePipeline& pipeline);

}  // namespace iqd::live
