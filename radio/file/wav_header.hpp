// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iqd::radio {

/// The format of a WAV file. Its samples are interleaved.
struct WavFormat {
  bool floats = true;  // 32-bit floats; false: 16-bit integers
  std::int64_t channels = 1;
  std::int64_t rate = 48000;

  std::int64_t frame_bytes() const noexcept { return channels * (floats ? 4 : 2); }
};

inline constexpr std::size_t kWavHeaderBytes = 94;

/// The header of a file with `data_bytes` of samples: RIFF, or above 4 GiB RF64 (EBU Tech 3306), whose sizes have 64
/// bits. Both have the same length, so a file may grow from one into the other.
std::array<std::byte, kWavHeaderBytes> wav_header(const WavFormat& format, std::int64_t data_bytes) noexcept;

}  // namespace iqd::radio
