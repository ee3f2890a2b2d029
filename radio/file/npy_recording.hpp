// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

bool is_npy_start(std::string_view first_bytes) noexcept;

/// An array of samples: complex or real, or with a last dimension of 2 or records of two numbers for I and Q. One
/// dimension is one channel. Of two, `NAME.json` beside it says which are the channels, as iqd writes it; without, the
/// shorter one. That file also has rate, frequency and time, and NAME.messages.npy the gaps.
Recording read_npy_recording(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems);

}  // namespace iqd::radio
