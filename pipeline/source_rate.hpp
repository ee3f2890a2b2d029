// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Where a source says `resample: true` and got another rate than its `rate`, by more than 1 ppm: a stage
/// `source_resampler` behind it, which brings its stream to that. Stages take it for the source, unless they say `from:
/// source`.
void add_resampler(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                   std::span<const StageEntry> stages);

}  // namespace iqd
