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

/// How a source is set: as its keys ask for it, but with rate and frequency of its stream, and with all channels of
/// that where the keys name none.
RadioRequest setting_of(const SourceOptions& source, const StreamInfo& stream);

/// How the channels of a radio differ from one of them, as `iqd calibrate` measures it, and with which settings that
/// was. A file, in YAML.
struct CalibrationTable {
  std::string date;   // ISO 8601, UTC
  std::string radio;  // its device arguments
  double rate_hz = 0;
  double frequency_hz = 0;
  double tolerance_hz = 1000;  // how far from `frequency` it still holds
  std::optional<double> gain_db;
  StringMap gain_elements;  // `gains` of the source
  std::string antenna;
  std::optional<double> bandwidth_hz;
  std::int64_t reference = 0;  // a channel of the radio
  std::vector<std::int64_t> channels;
  // One for each of `channels`:
  std::vector<double> gains_db;
  std::vector<double> phases_deg;
  std::vector<double> delays_s;
  // How sure that is, one standard deviation; for people.
  std::vector<double> gain_errors_db;
  std::vector<double> phase_errors_deg;
  std::vector<double> delay_errors_s;
  std::vector<double> coherence;

  void fields(FieldVisitor& visitor);
  /// Which keys of the source keep it from holding, and why, in words that say what to do; empty where it holds. What
  /// either side does not say keeps nothing. A gain that the radio sets itself always does.
  struct Mismatch {
    std::string key;
    std::string why;
  };
  std::vector<Mismatch> mismatches(const RadioRequest& source) const;
  std::string yaml() const;
  friend bool operator==(const CalibrationTable&, const CalibrationTable&) = default;
};

/// Reads a table. What is wrong with it goes to `problems`, with its line.
std::optional<CalibrationTable> load_calibration(const std::string& path, Problems& problems);

}  // namespace iqd
