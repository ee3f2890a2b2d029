// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_recording.hpp"

#include <fmt/format.h>

#include "radio/file/name_hints.hpp"
#include "radio/file/raw_recording.hpp"
#include "radio/file/wav_chunks.hpp"

namespace iqd::radio {
namespace {

Number number_of(const WavChunks& chunks) {
  if (chunks.code == 3) return chunks.bits == 32 ? Number::f32 : Number::f64;
  switch (chunks.bits) {
    case 8: return Number::wav8;
    case 16: return Number::i16;
    case 24: return Number::i24;
    default: return Number::i32;
  }
}

/// Whether pairs of channels are I and Q; nothing if the keys contradict the file.
std::optional<bool> is_complex(const WavChunks& chunks, const RecordingKeys& keys, std::string& why) {
  const bool even = chunks.channels % 2 == 0;
  std::optional<bool> complex;
  if (!keys.format.empty()) {
    const DiskFormat* const wanted = find_raw_format(keys.format);
    const Number own = number_of(chunks);
    const bool same = wanted && (wanted->number == own || (wanted->number == Number::u8 && own == Number::wav8));
    if (!same || wanted->big_endian) {
      why = fmt::format("`format: {}`: it is a WAV file of {}-bit {}; leave out `format`", keys.format, chunks.bits,
                        chunks.code == 3 ? "floats" : "integers");
      return std::nullopt;
    }
    complex = wanted->complex;
  }
  if (keys.channels > 0 && !complex) complex = keys.channels != chunks.channels;
  if (!complex) complex = chunks.tuning.complex.value_or(even);
  const std::int64_t streams = *complex ? chunks.channels / 2 : chunks.channels;
  if ((*complex && !even) || (keys.channels > 0 && keys.channels != streams)) {
    why = fmt::format("has {} channels in the WAV file: that is {}{} real", chunks.channels,
                      even ? fmt::format("{} with I and Q, or ", chunks.channels / 2) : "", chunks.channels);
    return std::nullopt;
  }
  return complex;
}

}  // namespace

bool is_wav_start(std::string_view start) noexcept {
  const std::string_view kind = start.substr(0, 4);
  return start.size() >= 12 && (kind == "RIFF" || kind == "RF64" || kind == "BW64") && start.substr(8, 4) == "WAVE";
}

Recording read_wav(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  Recording r;
  r.path = r.data = path;
  WavChunks chunks;
  std::string why = read_wav_chunks(FileBytes(path), chunks);
  std::optional<bool> complex;
  if (why.empty()) complex = is_complex(chunks, keys, why);
  if (!complex) {
    problems.push_back(fmt::format("{}: {}", path, why));
    return r;
  }
  r.format = find_disk_format(number_of(chunks), *complex);
  r.channels = *complex ? chunks.channels / 2 : chunks.channels;
  r.rate_hz = static_cast<double>(chunks.rate);
  take_whole(r, chunks.begin, chunks.bytes);
  if (chunks.unfinished) r.remarks.emplace_back("was not finished: its header does not say where its samples end");
  const NameHints hints = hints_in(path);
  Segment& all = r.segments.front();
  all.frequency_hz = chunks.tuning.frequency_hz ? chunks.tuning.frequency_hz : hints.frequency_hz;
  const std::optional<IsoTime> time = chunks.tuning.time ? chunks.tuning.time : hints.time;
  r.has_time = time.has_value();
  if (time) all.time_ns = time->ns;
  return r;
}

}  // namespace iqd::radio
