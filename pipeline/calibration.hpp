// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "pipeline/spec/calibration_table.hpp"

namespace iqd {

class Planner;
struct PipelineSpec;
struct StageEntry;

/// If a source has `calibration: FILE`, adds a stage `source_calibration`, which corrects the channels by the file's
/// table while the table holds. Other stages read it in place of the source, unless they say `from: source`.
void add_calibration(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                     std::span<const StageEntry> stages);
/// Reports a problem if the table does not match the source's settings. Settings that the stream does not know yet
/// match any table.
void check_calibration(const PipelineSpec& spec, const StreamInfo& stream);

}  // namespace iqd
