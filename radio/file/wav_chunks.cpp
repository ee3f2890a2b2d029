// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace iqd::radio {
namespace {

constexpr std::int64_t kUnknownSize = 0xffffffff;
constexpr std::size_t kMostNote = 1 << 16;
constexpr int kMostChunks = 10'000;

/// A SYSTEMTIME of Windows, in UTC: year, month, day of the week, day, hour, minute, second, millisecond.
std::optional<IsoTime> windows_time(std::string_view at) {
  const auto part = [&](std::size_t i) { return number_at<std::uint16_t>(at, 2 * i); };
  return parse_iso_time(fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", part(0), part(1), part(3), part(4),
                                    part(5), part(6), part(7)));
}

/// The number of an attribute such as `RadioCenterFreq="7100000"`.
std::optional<double> attribute(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view value = text.substr(at + name.size());
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// SpectraVue, HDSDR and SDR# write a structure, SDR Console XML of 16 bits a character.
void read_auxi(std::string_view chunk, WavTuning& tuning) {
  std::string text;
  std::ranges::copy_if(chunk, std::back_inserter(text), [](char c) { return c != '\0'; });
  if (text.find("<SDR-XML-Root") != std::string::npos) {
    tuning.frequency_hz = attribute(text, "RadioCenterFreq=\"");
    const auto seconds = attribute(text, "UTCSeconds=\"");
    if (seconds && std::fabs(*seconds) < 4e9)
      tuning.time = IsoTime{static_cast<std::int64_t>(*seconds) * 1'000'000'000, 1'000'000'000};
    return;
  }
  if (chunk.size() < 36) return;
  const auto hz = number_at<std::uint32_t>(chunk, 32);
  if (hz > 0) tuning.frequency_hz = hz;
  tuning.time = windows_time(chunk);
}

void read_note(std::string_view chunk, WavTuning& tuning) {
  if (chunk.size() < 24) return;
  tuning.complex = number_at<std::uint32_t>(chunk, 0) != 0;
  const auto hz = number_at<double>(chunk, 8);
  if (std::isfinite(hz) && hz != 0) tuning.frequency_hz = hz;
  const auto ns = number_at<std::int64_t>(chunk, 16);
  if (ns != 0 && is_plausible_time(ns)) tuning.time = IsoTime{ns, 1};
}

std::string read_format(std::string_view chunk, WavChunks& chunks) {
  if (chunk.size() < 16) return "its fmt chunk is too short";
  chunks.code = number_at<std::uint16_t>(chunk, 0);
  chunks.channels = number_at<std::uint16_t>(chunk, 2);
  chunks.rate = number_at<std::uint32_t>(chunk, 4);
  chunks.frame_bytes = number_at<std::uint16_t>(chunk, 12);
  chunks.bits = number_at<std::uint16_t>(chunk, 14);
  constexpr int kExtensible = 0xfffe;
  if (chunks.code == kExtensible) chunks.code = number_at<std::uint16_t>(chunk, 24);
  const bool known =
      (chunks.code == 1 && (chunks.bits == 8 || chunks.bits == 16 || chunks.bits == 24 || chunks.bits == 32)) ||
      (chunks.code == 3 && (chunks.bits == 32 || chunks.bits == 64));
  if (!known)
    return fmt::format(
        "its samples have format {} with {} bits; iqd reads integers (1) of 8, 16, 24 and 32 bits, and "
        "floats (3) of 32 and 64",
        chunks.code, chunks.bits);
  if (chunks.channels == 0) return "it has no channels";
  if (chunks.rate == 0) return "its sample rate is 0";
  if (chunks.frame_bytes != chunks.channels * chunks.bits / 8)
    return fmt::format("{} bytes do not hold {} channels of {} bits", chunks.frame_bytes, chunks.channels, chunks.bits);
  return {};
}

/// The size of the samples is often wrong: 0 or 2^32 - 1 while a program still writes.
void read_data(const FileBytes& file, std::int64_t size, std::int64_t large_size, std::int64_t riff_size,
               WavChunks& chunks) {
  const std::int64_t left = file.size() - chunks.begin;
  const bool large = size == kUnknownSize && large_size > 0;
  chunks.bytes = large ? large_size : size;
  const bool is_empty = size == 0 && riff_size == file.size() - 8;
  chunks.unfinished = (!large && size == kUnknownSize) || (size == 0 && !is_empty && left > 0) || chunks.bytes > left;
  if (chunks.unfinished) chunks.bytes = left;
}

}  // namespace

std::string read_wav_chunks(const FileBytes& file, WavChunks& chunks) {
  const std::string start = file.read(0, 12);
  if (start.size() < 12 || start.compare(8, 4, "WAVE") != 0) return "is not a WAV file (RIFF or RF64 with WAVE)";
  const auto riff_size = static_cast<std::int64_t>(number_at<std::uint32_t>(start, 4));
  std::int64_t large_size = 0;
  bool has_format = false;
  std::int64_t at = 12;
  for (int count = 0; count < kMostChunks && at + 8 <= file.size(); ++count) {
    const std::string header = file.read(at, 8);
    const std::string name = header.substr(0, 4);
    const auto size = static_cast<std::int64_t>(number_at<std::uint32_t>(header, 4));
    at += 8;
    if (name == "data" && chunks.begin == 0) {
      if (!has_format) return "its samples come before their format";
      chunks.begin = at;
      read_data(file, size, large_size, riff_size, chunks);
      at += chunks.bytes + chunks.bytes % 2;
      continue;
    }
    const std::string chunk = file.read(at, std::min(static_cast<std::size_t>(size), kMostNote));
    if (name == "ds64") large_size = std::max<std::int64_t>(number_at<std::int64_t>(chunk, 8), 0);
    if (name == "fmt " && !has_format) {
      if (const std::string why = read_format(chunk, chunks); !why.empty()) return why;
      has_format = true;
    }
    if (name == "auxi" && !chunks.tuning.complex) read_auxi(chunk, chunks.tuning);
    if (name == kWavNote) read_note(chunk, chunks.tuning);
    at += size + size % 2;
  }
  if (!has_format) return "has no fmt chunk";
  return chunks.begin == 0 ? "has no samples (no data chunk)" : "";
}

}  // namespace iqd::radio
