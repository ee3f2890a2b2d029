// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// What iqd writes beside an array: NAME.json and NAME.messages.npy. Empty if there are no such files, or if they are
/// not iqd's.
struct ArrayNotes {
  struct Row {
    std::int64_t row = 0;
    std::int64_t rows = 0;
    std::int64_t sample = 0;  // of the source
    std::int64_t time_ns = 0;
    std::int64_t gap = 0;  // of the source
  };
  struct Tuned {
    std::int64_t row = 0;     // of the message that reported it
    std::int64_t sample = 0;  // from which it holds
    double frequency_hz = 0;
  };
  std::vector<std::string> dims;
  double rate_hz = 0;  // of the array's items
  double period = 1;   // samples of the source for each
  std::optional<double> frequency_hz;
  std::optional<std::int64_t> time_ns;
  std::string hardware, author, description;
  std::vector<Row> messages;
  std::vector<Tuned> tuned;
};

ArrayNotes read_array_notes(const std::string& path);

/// Cuts a recording of one segment at the gaps and retunes of the notes. `channels` and `rate_hz` are set.
void cut_by_notes(const ArrayNotes& notes, Recording& recording);

}  // namespace iqd::radio
