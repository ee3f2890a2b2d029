// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "base/files/npy.hpp"
#include "radio/file/recording.hpp"
#include "radio/file/recording_sink.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongest = 48;  // items of a message

/// A folder in memory, if there is one.
struct Folder {
  Folder() {
    const fs::path memory = "/dev/shm";
    path = (fs::exists(memory) ? memory : fs::temp_directory_path()) / ("iqd-fuzz-" + std::to_string(::getpid()));
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

PortFormat format_of(Bytes& bytes) {
  PortFormat f;
  f.pipeline = "test";
  f.port = "source.out";
  f.element = static_cast<Element>(bytes.below(kElements.size()));
  if (const std::size_t channels = bytes.below(4); channels > 0)
    f.dims.push_back({"channel", static_cast<std::int64_t>(channels)});
  f.dims.push_back({"n", kLongest});
  f.varying = static_cast<int>(f.dims.size()) - 1;
  constexpr double kRates[] = {48000, 1e6, 20.625e6, 44100.5, 3000};
  f.rate_hz = bytes.pick(kRates);
  constexpr double kSteps[] = {1, 2, 10, 1.5};
  f.item_rate_hz = f.rate_hz / bytes.pick(kSteps);
  f.frequency_hz = bytes.flag() ? 433e6 : 0;
  f.hardware = std::string(bytes.piece());
  return f;
}

/// What was sent, and should be found again.
struct Sent {
  std::int64_t items = 0;
  std::int64_t gaps = 0;  // before samples
};

/// Messages as a pipeline sends them: each begins where the previous one ended, plus the gap.
Sent send_all(Sink& sink, const PortFormat& format, Bytes& bytes) {
  const double period = format.rate_hz / format.item_rate_hz;
  Sent sent;
  Trigger trigger{.reason = "level"};
  double next = static_cast<double>(bytes.take<std::uint8_t>());
  const std::int64_t began_ns = bytes.flag() ? 1'743'422'400'000'000'000 : 0;
  for (int i = 0; i < 40 && !bytes.empty(); ++i) {
    Message m;
    m.format = &format;
    m.extent = static_cast<std::int64_t>(bytes.below(static_cast<std::size_t>(kLongest) + 1));
    constexpr std::int64_t kGaps[] = {0, 1, 2, 1000, 1'000'000'000};
    const std::uint8_t what = bytes.take<std::uint8_t>();
    if (i > 0 && what & 1) m.gap = bytes.pick(kGaps);
    next += static_cast<double>(m.gap);
    m.sample = std::llround(next);
    m.position = sent.items;
    if (began_ns) m.time_ns = began_ns + std::llround(next * 1e9 / format.rate_hz);
    if (what & 2) m.retuned_hz = static_cast<double>(bytes.take<std::int8_t>());
    if (what & 4) m.tuned = m.sample + bytes.take<std::int8_t>();
    if (what & 8) {
      trigger.first = bytes.take<std::int8_t>() & 0x3f;
      trigger.items = bytes.take<std::uint8_t>();
      m.trigger = &trigger;
    }
    const std::vector<std::byte> payload(static_cast<std::size_t>(format.bytes(m.extent)), std::byte{7});
    m.payload = payload;
    next += static_cast<double>(m.extent) * period;
    expect(sink.send(m), "a disk with room takes all");
    sent.items += m.extent;
    sent.gaps += m.gap;
  }
  return sent;
}

void check_sigmf(const std::string& path, const PortFormat& format, const Sent& sent) {
  std::vector<std::string> problems;
  const radio::Recording r = radio::read_recording(path, problems);
  // Not every SigMF recording can be played.
  if (r.format == nullptr) return;
  expect(problems.empty(), "what was recorded can be played: " + (problems.empty() ? "" : problems.front()));
  std::int64_t items = 0, lost = 0;
  for (const radio::Segment& s : r.segments) {
    items += s.samples;
    lost += s.lost;
  }
  expect(items == sent.items, "all items are there");
  expect(format.rate_hz != format.item_rate_hz || sent.items == 0 || lost <= sent.gaps, "no gap is found twice");
}

void check_array(const std::string& path, const PortFormat& format, const Sent& sent) {
  const NpyArray array = read_npy(path);
  expect(!array.shape.empty() && array.shape.front() == sent.items, "all rows are there");
  expect(array.data.size() == static_cast<std::size_t>(format.bytes(sent.items)), "as long as they should be");
}

void check_raw(const std::string& path, const PortFormat& format, const Sent& sent) {
  std::vector<std::string> problems;
  const std::int64_t channels = format.dims.size() == 2 ? format.dims.front().extent : 1;
  const radio::Recording r = radio::read_recording(path, problems, {.rate_hz = 1e6, .channels = channels});
  expect(problems.empty() && r.remarks.empty() && r.samples() == sent.items, "all items are there");
}

void check_wav(const std::string& path, const PortFormat& format, const Sent& sent) {
  std::vector<std::string> problems;
  const bool real = !traits(format.element).complex;
  const std::int64_t channels = format.dims.size() == 2 ? format.dims.front().extent : 1;
  const radio::Recording r = radio::read_recording(path, problems, {.channels = channels});
  expect(problems.empty() && r.remarks.empty(), "what was recorded can be played");
  expect(r.samples() >= sent.items && r.channels == channels, "all samples are there");
  expect(r.format->complex == !real, "it is known whether they are complex");
}

}  // namespace

/// Writes a port's messages to a file of each kind, and reads it back.
void recording(std::string_view input) {
  static const Folder folder;
  Bytes bytes(input);
  constexpr const char* kNames[] = {"x", "x.npy", "x.wav", "x.cf32", "x.sigmf", "x.s16"};
  const std::size_t kind = bytes.below(std::size(kNames));
  const PortFormat format = format_of(bytes);
  const radio::FileSinkSettings settings{.path = folder.path / kNames[kind], .overwrite = true};
  if (!radio::unrecordable(settings, format).empty()) return;
  std::unique_ptr<Sink> sink = radio::open_recording_sink(settings, format);
  const Sent sent = send_all(*sink, format, bytes);
  sink->finish();
  sink.reset();
  if (kind == 3 || kind == 5) return check_raw(settings.path, format, sent);
  (kind == 1 ? check_array : kind == 2 ? check_wav : check_sigmf)(settings.path, format, sent);
}

}  // namespace iqd::fuzz
