// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "config/fields.hpp"

namespace iqd {

/// Returns the source's settings: those of its keys, but with the stream's rate and frequency, and with all channels of
/// the stream if the keys name none.
RadioRequest setting_of(const SourceOptions& source, const StreamInfo& stream);

/// The differences between a radio's channels and its reference channel, measured by `iqd calibrate`, with the settings
/// of the measurement. Stored as YAML.
struct CalibrationTable {
  std::string date;   // ISO 8601, UTC
  std::string radio;  // its device arguments
  double rate_hz = 0;
  double frequency_hz = 0;
  double tolerance_hz = 1000;  // how far from `frequency` the table still holds
  std::optional<double> gain_db;
  StringMap gain_elements;  // `gains` of the source
  std::string antenna;
  std::optional<double> bandwidth_hz;
  std::int64_t reference = 0;  // a channel of the radio
  std::vector<std::int64_t> channels;
  // One for each channel:
  std::vector<double> gains_db;
  std::vector<double> phases_deg;
  std::vector<double> delays_s;
  // Their uncertainty, one standard deviation; for information only.
  std::vector<double> gain_errors_db;
  std::vector<double> phase_errors_deg;
  std::vector<double> delay_errors_s;
  std::vector<double> coherence;

  void fields(FieldVisitor& visitor);
  /// The keys of the source for which the table does not hold, with the reason and what to do; empty if it holds.
  /// Settings that one side leaves out are not compared. The table never holds with `agc`.
  struct Mismatch {
    std::string key;
    std::string why;
  };
  std::vector<Mismatch> mismatches(const RadioRequest& source) const;
  std::string yaml() const;
  friend bool operator==(const CalibrationTable&, const CalibrationTable&) = default;
};

/// Reads a table. Problems go to `problems`, with their lines.
std::optional<CalibrationTable> load_calibration(const std::string& path, Problems& problems);

}  // namespace iqd
