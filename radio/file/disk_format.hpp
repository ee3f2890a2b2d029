// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/element.hpp"

namespace iqd::radio {

/// How a real number, or a part of a complex one, is stored.
enum class Number : std::uint8_t { f16, f32, f64, i8, i16, i24, i32, u8, u16, u32, wav8 };

/// The layout of samples in a file. Integers become numbers of full scale 1 (sc16: 32768): a signed one of b bits is
/// x / 2^(b-1), an unsigned one (x - (2^b - 1) / 2) / 2^(b-1), so cu8 has its zero at 127.5, as its receivers have.
/// Only the unsigned bytes of a WAV file (`wav8`) have it at 128, as WAV says.
struct DiskFormat {
  std::string_view name;  // in SigMF, or similar
  Number number;
  bool complex;
  bool big_endian;
  Element element;     // in memory: sc16 if that is exact, otherwise cf32; f32 for real numbers
  std::int64_t bytes;  // one sample of one channel
  double full_scale;   // as in StreamInfo
  bool as_in_memory;   // samples need no conversion
};

/// By its name in SigMF; one without its byte order is little endian. Null for a datatype that iqd does not read.
const DiskFormat* find_disk_format(std::string_view datatype) noexcept;
/// By any name in use for raw files, in upper or lower case: SigMF's, `cs16` (SoapySDR), `fc32` (UHD), `complex64`
/// (NumPy), `complex16u` (baudline). `_be` at its end means big endian. Null if it is unknown.
const DiskFormat* find_raw_format(std::string_view name);
/// The format for a file's parts.
const DiskFormat* find_disk_format(Number number, bool complex, bool big_endian = false) noexcept;
/// The same numbers as pairs of real and imaginary part, or as real numbers.
const DiskFormat* with_complex(const DiskFormat& format, bool complex) noexcept;
/// Some names for raw files, for messages.
std::string raw_format_names();

}  // namespace iqd::radio
