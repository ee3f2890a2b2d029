// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/replaced_file.hpp"

namespace iqd::radio {

/// The operator's notes on a recording.
struct RecordingLabels {
  std::string description = {};
  std::string author = {};
  std::string hardware = {};  // replaces the radio's own
};

/// How the channels of a stream [channel][n] lie in the array.
enum class ArrayLayout : std::uint8_t {
  columns,  // [n][channel], so that the array can grow
  rows,     // [channel][n]
};

/// The rows of an array that a message fills.
std::int64_t items_in(const Message& message) noexcept;

/// The JSON file beside an array: what its numbers are and when they were taken, under the keys of a message's header,
/// how many there are and how many samples were lost, and whether it is complete. Correct at any moment, except for the
/// latest changes.
class ArrayFacts {
 public:
  ArrayFacts(const std::string& path, const PortFormat& format, const RecordingLabels& labels, ArrayLayout layout);

  /// Takes a message whose first item becomes this row; one without items only reports a gap.
  void take(const Message& message, std::int64_t row);
  /// Writes the file if it has changed, for mere counts once a second. `complete`: no more messages follow. Returns false, with `errno`, on failure;
  /// if only descriptors are short, it is written the next time.
  bool write(bool complete);

 private:
  void begin(const Message& message);
  void set_place(double frequency_hz, double span_hz);

  ReplacedFile file_;
  nlohmann::ordered_json facts_;
  std::int64_t items_ = 0, messages_ = 0, gaps_ = 0, lost_ = 0;
  std::vector<Dim> dims_;
  bool bare_if_single_;      // a single array of a port without a varying dimension is stored without that of messages
  double frequency_hz_ = 0;  // of the latest row
  double span_hz_ = 0;
  bool begun_ = false;
  bool stale_ = true;
  bool counted_ = false;             // the counts have changed
  std::int64_t next_counts_ns_ = 0;  // steady clock
};

}  // namespace iqd::radio
