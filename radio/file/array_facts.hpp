// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/driver.hpp"
#include "radio/file/replaced_file.hpp"

namespace iqd::radio {

/// What an operator says of a recording.
struct RecordingLabels {
  std::string description = {};
  std::string author = {};
  std::string hardware = {};  // in place of what the radio says
};

/// The text beside an array: what its numbers are and when they were taken, under the keys of a message's header, what
/// was lost on the way, and whether it is complete. True at every moment, but for what came since it was last written.
class ArrayFacts {
 public:
  ArrayFacts(const std::string& path, const PortFormat& format, const RecordingLabels& labels);

  /// A message whose first item becomes this row; one without items only tells what was lost.
  void take(const Message& message, std::int64_t row);
  /// Writes it anew where it has changed. `complete`: nothing more comes. False, with `errno`, where it cannot be; what
  /// only lacks a descriptor is written the next time.
  bool write(bool complete);

 private:
  void begin(const Message& message);

  ReplacedFile file_;
  nlohmann::ordered_json facts_;
  std::int64_t lost_ = 0;
  double frequency_hz_ = 0;
  bool begun_ = false;
  bool stale_ = true;
};

}  // namespace iqd::radio
