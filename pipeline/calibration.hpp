// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

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

/// Looks whether a table goes on holding while its source is tuned.
class CalibrationWatch {
 public:
  CalibrationWatch(std::string name, std::shared_ptr<const CalibrationTable> table)
      : name_(std::move(name)), table_(std::move(table)) {}
  bool is_of(const CalibrationTable& table) const { return *table_ == table; }
  /// Whether the table holds for the source as it is now; a change is a line in the log.
  bool look(const SourceOptions& source, const StreamInfo& stream);

 private:
  std::string name_;
  std::shared_ptr<const CalibrationTable> table_;
  bool holds_ = true;
};
}  // namespace iqd
