// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/calibration_table.hpp"

namespace iqd {

struct PipelineSpec;

/// Where a source says `calibration: FILE`: a stage `source_calibration` behind it, which takes out what the file's
/// table says of its channels, as long as the table holds. Stages take it for the source, unless they say `from:
/// source`.
void add_calibration(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                     std::span<const StageEntry> stages);
/// A table that does not go with how the source is set is a problem; what the stream does not tell yet goes with any.
void check_calibration(const PipelineSpec& spec, const StreamInfo& stream);

}  // namespace iqd
