// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "pipeline/spec/calibration_table.hpp"

namespace iqd {

/// Checks whether a calibration table still holds when its source is retuned.
class CalibrationWatch {
 public:
  CalibrationWatch(std::string name, std::shared_ptr<const CalibrationTable> table)
      : name_(std::move(name)), table_(std::move(table)) {}
  bool is_of(const CalibrationTable& table) const { return *table_ == table; }
  /// Whether the table holds for the source as it is now. Logs each change.
  bool look(const SourceOptions& source, const StreamInfo& stream);

 private:
  std::string name_;
  std::shared_ptr<const CalibrationTable> table_;
  bool holds_ = true;
};

}  // namespace iqd
