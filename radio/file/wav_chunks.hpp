// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "radio/file/file_bytes.hpp"
#include "radio/file/iso_time.hpp"

namespace iqd::radio {

/// When and where the samples of a WAV file were taken.
struct WavTuning {
  std::optional<double> frequency_hz;
  std::optional<IsoTime> time;
  std::optional<bool> complex;  // only iqd says it
};

/// What the chunks of a WAV file say.
struct WavChunks {
  int code = 0;  // 1: integers, 3: floats
  std::int64_t channels = 0;
  std::int64_t rate = 0;
  std::int64_t frame_bytes = 0;
  int bits = 0;
  std::int64_t begin = 0;  // of the samples
  std::int64_t bytes = 0;
  bool unfinished = false;  // the sizes are wrong: all to the end of the file are samples
  WavTuning tuning;
};

/// Returns why the file is not WAV; empty if it is.
std::string read_wav_chunks(const FileBytes& file, WavChunks& chunks);

/// iqd's own chunk: what `auxi` cannot hold exactly.
inline constexpr std::string_view kWavNote = "iqd ";

}  // namespace iqd::radio
