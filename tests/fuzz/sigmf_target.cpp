// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/sigmf_recording.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

using radio::Recording;
using radio::Segment;
using radio::SigmfMeta;

/// Metadata written by iqd is read back unchanged.
void write_again(const SigmfMeta& meta) {
  std::vector<std::string> problems;
  const SigmfMeta again = radio::parse_sigmf(radio::sigmf_text(meta), problems);
  expect(problems.empty(), "written metadata can be read");
  expect(again.rate_hz == meta.rate_hz && again.channels == meta.channels && again.datatype == meta.datatype,
         "the stream is unchanged");
  expect(again.captures.size() == meta.captures.size(), "no capture is lost");
  for (std::size_t i = 0; i < meta.captures.size(); ++i)
    expect(again.captures[i].sample_start == meta.captures[i].sample_start &&
               again.captures[i].global_index == meta.captures[i].global_index &&
               again.captures[i].time.has_value() == meta.captures[i].time.has_value(),
           "captures are unchanged");
}

void check_segments(const Recording& r, std::int64_t data_bytes) {
  const std::int64_t frame = r.step_bytes();
  std::int64_t end = 0;
  for (const Segment& s : r.segments) {
    expect(s.samples >= 0 && s.lost >= 0, "counts of samples are not negative");
    expect(s.byte >= end && s.byte + s.samples * frame <= data_bytes, "segments lie in the file, in order");
    end = s.byte + s.samples * frame;
  }
}

/// Plays it to its end.
void play(const Recording& recording, bool repeat) {
  constexpr std::int64_t kMost = 100;
  radio::FileSource source(recording, {.repeat = repeat});
  const StreamInfo info = source.info();
  std::vector<std::vector<std::byte>> rows(static_cast<std::size_t>(info.channels));
  std::vector<std::byte*> into;
  for (auto& row : rows) {
    row.resize(kMost * size_of(info.element));
    into.push_back(row.data());
  }
  std::int64_t samples = 0, all = 0;
  for (const Segment& s : recording.segments) all += s.samples;
  for (int calls = 0; calls < 200; ++calls) {
    const Received got = source.receive(into, kMost);
    if (got.event != Received::Event::samples) break;
    expect(got.samples > 0 && got.samples <= kMost && got.lost >= 0, "samples as asked for");
    expect(got.tuned >= -1 && got.tuned < got.samples, "the radio was set at one of these samples");
    samples += got.samples;
  }
  expect(repeat || samples <= all, "no more samples than there are");
}

}  // namespace

/// The metadata of a recording, and the number of bytes of its samples.
void sigmf(std::string_view input) {
  Bytes bytes(input);
  const auto data_bytes = static_cast<std::int64_t>(bytes.take<std::uint16_t>());
  const bool repeat = bytes.flag();
  std::vector<std::string> problems;
  const SigmfMeta meta = radio::parse_sigmf(bytes.rest(), problems);
  if (!problems.empty()) return;
  if (meta.rate_hz > 0) write_again(meta);
  if (!radio::find_disk_format(meta.datatype)) return;
  const MemoryFile data(std::string(static_cast<std::size_t>(data_bytes), '\1'));
  const Recording r = radio::lay_out(meta, {}, {data.path(), 0, data_bytes}, problems);
  if (!problems.empty()) return;
  check_segments(r, data_bytes);
  play(r, repeat);
}

}  // namespace iqd::fuzz
