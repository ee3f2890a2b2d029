// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "radio/file/recording.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

/// Bytes of a file: all of it, or a member of an archive.
struct FilePart {
  std::string path;
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

/// Reads the metadata of a recording that is named by either of its files, or by the part that their names share. iqd
/// writes a segment's metadata before its samples. So after a kill, its recordings may have metadata beyond the data,
/// which are ignored. In recordings of other programs they are a problem.
Recording read_sigmf(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems);
/// The metadata beside a data file of any name that name it as their core:dataset; empty if there are none.
std::string meta_of_dataset(const std::string& data);
/// A collection has no samples: always a problem, which names the recordings in it.
Recording read_collection(const std::string& path, std::vector<std::string>& problems);

/// Checks metadata, and maps their captures to the samples in `data`, without access to any file. `paths` are for
/// messages.
Recording lay_out(SigmfMeta meta, const SigmfPaths& paths, const FilePart& data, std::vector<std::string>& problems);
/// The metadata in this text, whose problems get the name of the file.
SigmfMeta parse_meta(const std::string& text, const std::string& file, const RecordingKeys& keys,
                     std::vector<std::string>& problems);

}  // namespace iqd::radio
