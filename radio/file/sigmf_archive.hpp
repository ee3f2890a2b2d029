// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// A recording within a SigMF archive, which is a tar file; it is played in place. An archive with several recordings
/// is a problem that names them.
Recording read_archive(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems);

}  // namespace iqd::radio
