// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "radio/file/array_facts.hpp"
#include "radio/file/growing_npy.hpp"
#include "radio/file/item_facts.hpp"

namespace iqd::radio {

/// The files beside an array NAME.npy, valid at any moment: NAME.messages.npy has a record for each message that has
/// items: its first row, the number of rows, source sample, time and gap; NAME.facts.npy has one for each packet or
/// frame; NAME.json describes the numbers and counts them.
class ArrayRecords {
 public:
  /// `path` is the array's. Replaces existing files. Throws SetupError.
  ArrayRecords(const std::string& path, const PortFormat& format, const RecordingLabels& labels, ArrayLayout layout);
  /// How many files are open while a sink writes the array.
  static int open_files(const PortFormat& format) noexcept { return ItemFacts::describes(format) ? 4 : 3; }
  /// The memory that it needs for such a port.
  static std::size_t bytes(const PortFormat& format) noexcept { return ItemFacts::bytes(format); }

  // Each returns false if a file takes no more, and `errno` has the reason.

  /// Takes a message whose first item is this row of the array; one without items only reports a gap.
  bool take(const Message& message, std::int64_t row);
  /// Makes the files count all records.
  bool settle();
  /// The same, at the end of the stream.
  bool finish();

 private:
  GrowingNpy messages_;
  std::optional<ItemFacts> items_;
  ArrayFacts facts_;
};

}  // namespace iqd::radio
