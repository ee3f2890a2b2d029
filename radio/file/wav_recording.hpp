// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

bool is_wav_start(std::string_view first_bytes) noexcept;

/// A WAV file: RIFF, RF64 or BW64; 8 to 32 bits, or floats. Two channels are I and Q, four two times I and Q; one, or
/// any other odd number, are real. `keys.channels`, `keys.format` and iqd's own note in the file decide differently.
/// Frequency and time are those of an `auxi` chunk, of iqd's chunk, or of the name. A file that was not finished, whose
/// sizes are 0 or 2^32 - 1 or too large, is played to its end.
Recording read_wav(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems);

}  // namespace iqd::radio
