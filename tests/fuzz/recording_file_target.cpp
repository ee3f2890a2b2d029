// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/name_hints.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

namespace fs = std::filesystem;

/// Names for which another reader is chosen, or which say something about the samples.
constexpr const char* kNames[] = {"x.wav",
                                  "x.npy",
                                  "x.sigmf",
                                  "x.cu8",
                                  "x.cs16",
                                  "x_433.92M_250k.cu8",
                                  "gqrx_20190614_142930_433920000_1800000_fc.raw",
                                  "HDSDR_20150804_204851Z_433920kHz_RF.wav",
                                  "x.iq",
                                  "x.cf64_be",
                                  "x.sigmf-collection",
                                  "x.s16"};
constexpr const char* kFormats[] = {"", "cu8", "cs16", "cf32_be", "s24", "no"};

struct FileFolder {
  FileFolder() {
    const fs::path memory = "/dev/shm";
    path = (fs::exists(memory) ? memory : fs::temp_directory_path()) / ("iqd-fuzz-file-" + std::to_string(::getpid()));
    fs::create_directories(path);
  }
  ~FileFolder() { fs::remove_all(path); }
  FileFolder(const FileFolder&) = delete;
  FileFolder& operator=(const FileFolder&) = delete;

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path / name, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return (path / name).string();
  }
  fs::path path;
};

void play_file(const radio::Recording& recording, bool repeat) {
  constexpr std::int64_t kMost = 100;
  radio::FileSource source(recording, {.repeat = repeat});
  const StreamInfo info = source.info();
  expect(info.rate_hz > 0, "a recording that is played has a rate");
  std::vector<std::vector<std::byte>> rows(static_cast<std::size_t>(info.channels));
  std::vector<std::byte*> into;
  for (auto& row : rows) {
    row.resize(kMost * size_of(info.element));
    into.push_back(row.data());
  }
  std::int64_t samples = 0;
  for (int calls = 0; calls < 200; ++calls) {
    const Received got = source.receive(into, kMost);
    if (got.event != Received::Event::samples) {
      expect(got.event == Received::Event::end, "all samples that were promised are there");
      break;
    }
    expect(got.samples > 0 && got.samples <= kMost && got.lost >= 0, "samples as asked for");
    samples += got.samples;
  }
  expect(repeat || samples <= recording.samples(), "no more samples than there are");
}

void check_bounds(const radio::Recording& r) {
  const auto size = static_cast<std::int64_t>(fs::file_size(r.data));
  expect(r.format != nullptr && r.channels >= 1, "it is known what the samples are");
  for (const radio::Segment& s : r.segments) {
    expect(s.samples >= 0 && s.lost >= 0 && s.byte >= 0, "counts are not negative");
    const std::int64_t end =
        r.row_bytes ? (r.channels - 1) * r.row_bytes + s.samples * r.format->bytes : s.samples * r.step_bytes();
    expect(s.byte + end <= size, "segments lie in the file");
  }
}

}  // namespace

/// A file of any kind with what a user says about it, and what may lie beside it: for an array, NAME.json and
/// NAME.messages.npy.
void recording_file(std::string_view input) {
  static const FileFolder folder;
  Bytes bytes(input);
  const std::string name = bytes.pick(kNames);
  const std::uint8_t what = bytes.take<std::uint8_t>();
  radio::RecordingKeys keys{.format = bytes.pick(kFormats), .channels = bytes.take<std::uint8_t>()};
  if (what & 1) keys.rate_hz = 1e6;
  if (what & 2) keys.frequency_hz = 433e6;
  folder.write("x.json", bytes.piece());
  folder.write("x.messages.npy", bytes.piece());
  const std::string path = folder.write(name, bytes.rest());
  std::vector<std::string> problems;
  const radio::Recording recording = radio::read_recording(path, problems, keys);
  if (problems.empty()) {
    check_bounds(recording);
    play_file(recording, what & 4);
  }
  fs::remove(path);
  radio::hints_in(input);
}

}  // namespace iqd::fuzz
