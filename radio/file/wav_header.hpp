// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iqd::radio {

/// What a WAV file is about. Its samples are interleaved.
struct WavFormat {
  bool floats = true;  // of 32 bits; else whole numbers of 16
  std::int64_t channels = 1;
  std::int64_t rate = 48000;

  std::int64_t frame_bytes() const noexcept { return channels * (floats ? 4 : 2); }
};

inline constexpr std::size_t kWavHeaderBytes = 94;

/// The header of a file with so many bytes of samples behind it: RIFF, or above 4 GiB RF64 (EBU Tech 3306), whose sizes
/// have 64 bits. Both are as long, so a file may grow from one into the other.
std::array<std::byte, kWavHeaderBytes> wav_header(const WavFormat& format, std::int64_t data_bytes) noexcept;

}  // namespace iqd::radio
