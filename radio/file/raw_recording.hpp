// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// A file that holds only samples. Format, rate and frequency are in `keys`, or in the file's name (name_hints.hpp).
Recording read_raw(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems);

/// All samples of part of a file, without a gap; a cut sample at its end is left out, with a remark.
void take_whole(Recording& recording, std::int64_t begin, std::int64_t bytes);

}  // namespace iqd::radio
