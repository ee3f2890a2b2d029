// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iqd::radio {

/// What a file is, by the ending of its name. A recording to be written is SigMF unless its name says something else.
enum class Container : std::uint8_t {
  sigmf,    // NAME.sigmf-meta and NAME.sigmf-data
  archive,  // NAME.sigmf
  wav,      // NAME.wav
  npy,      // NAME.npy, and files beside it
  raw,      // NAME.cu8, NAME.cs16, NAME.cf32 …, NAME.raw, NAME.iq, NAME.bin, NAME.dat
};
Container container_of(std::string_view path);
/// Why no recording gets this name: its ending belongs to something else. Empty if it can have it.
std::string unwritable_name(std::string_view path);
/// Whether a name is that of an existing recording, and not of a pipeline file.
bool names_recording(const std::string& path);

bool is_wav(std::string_view path);
bool is_npy(std::string_view path);

/// The files that a recording of this name consists of; the one with the samples comes first.
std::vector<std::string> recording_files(const std::string& path);

/// Beside NAME.npy: NAME.messages.npy, NAME.facts.npy and NAME.json.
std::string messages_path(std::string_view path);
std::string items_path(std::string_view path);
std::string json_path(std::string_view path);

}  // namespace iqd::radio
