// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// A recording of an archive: ARCHIVE.sigmf/NAME. Without a name it is the only one.
struct ArchivePart {
  std::string archive;
  std::string name;
};
/// The part that a path names, if it leads into an archive.
std::optional<ArchivePart> archive_part(const std::string& path);

/// A recording within a SigMF archive, which is a tar file; it is played in place. Without a name, an archive with
/// several recordings is a problem that names them.
Recording read_archive(const ArchivePart& part, const RecordingKeys& keys, std::vector<std::string>& problems);

}  // namespace iqd::radio
