// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iqd::radio {

/// The format of a WAV file. Its samples are interleaved.
struct WavFormat {
  bool floats = true;  // false: integers
  std::int64_t channels = 1;
  std::int64_t rate = 48000;
  std::int64_t bits = 32;    // of each number
  bool notes = false;        // say what follows
  bool complex = false;      // pairs of channels are I and Q
  double frequency_hz = 0;   // 0: unknown
  std::int64_t time_ns = 0;  // of the first sample; 0: unknown

  std::int64_t frame_bytes() const noexcept { return channels * bits / 8; }
};

inline constexpr std::size_t kWavHeaderBytes = 94;  // without notes

/// The header of a file with `data_bytes` of samples: RIFF, or above 4 GiB RF64 (EBU Tech 3306), whose sizes have 64
/// bits. Both have the same length, so a file may grow from one into the other. With notes it has an `auxi` chunk, in
/// which SDR programs look for frequency and time, and one of iqd's that also says whether channels are I and Q.
std::vector<std::byte> wav_header(const WavFormat& format, std::int64_t data_bytes);

}  // namespace iqd::radio
