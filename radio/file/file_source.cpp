// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <chrono>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/integer.hpp"
#include "base/log.hpp"
#include "radio/file/staging.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kMostBytesPerCall = 8 << 20;  // a slow disk reads that in about 100 ms
constexpr double kLongestWaitNs = 100e6;             // per call
constexpr double kPacedSeconds = 0.001;              // shortest wait: shorter ones would only cost calls

}  // namespace

FileSource::FileSource(Recording recording, FileSourceSettings settings)
    : recording_(std::move(recording)),
      settings_(std::move(settings)),
      file_(recording_),
      playhead_(recording_, settings_.repeat),
      end_(settings_.part.all.end),
      frequency_hz_(recording_.info().frequency_hz),
      pace_(recording_.rate_hz) {
  playhead_.seek(settings_.part.all.first);
  for (const std::string& remark : recording_.remarks) log::warn("{}: {}", recording_.path, remark);
  if (recording_.announced > 0)
    log::warn(
        "{}: ignoring {} segments that begin after the last sample: the recorder was killed, or "
        "the file is cut short",
        recording_.data, recording_.announced);
}

Need FileSource::need(const std::string& path, const StreamInfo& stream) {
  const auto frame = size_of(stream.element) * static_cast<std::size_t>(stream.channels);
  return {.what = "recording " + path, .bytes = std::max(kStagingBytes, frame), .files = 1};
}

StreamInfo FileSource::info() const {
  StreamInfo info = recording_.info();
  info.frequency_hz = frequency_hz_;
  info.edges = settings_.part.edges;
  return info;
}

Excerpt FileSource::excerpt(const BlockNeeds& needs) {
  Excerpt part = settings_.part.cut(needs.block);
  part.at = playhead_.seek(std::max<SampleIndex>(part.at - needs.past, 0));
  frequency_hz_ = playhead_.frequency_hz();
  end_ = part.first < part.end ? saturated_add(part.end, needs.future) : part.at;
  if (settings_.window) describe_window(part, needs.block);
  return part;
}

void FileSource::describe_window(const Excerpt& part, std::int64_t block) {
  PlayedWindow& window = *settings_.window;
  fingerprint_ = Fingerprint::of(recording_.path, recording_.data);
  window.data = fingerprint_->text();
  window.first = part.first;
  window.end = part.end;
  window.received = window.missing = window.blocks = 0;
  const auto count = [&](SampleIndex begin, SampleIndex end) {  // samples without a gap
    begin = std::max(begin, part.first);
    end = std::min(end, part.end);
    if (begin >= end) return;
    window.received += end - begin;
    window.blocks += ceil_div(end, block) - begin / block;
  };
  SampleIndex begin = 0, at = 0;
  for (const Segment& segment : recording_.segments) {
    if (&segment != recording_.segments.data() && segment.lost > 0) {
      count(begin, at);
      begin = at = saturated_add(at, segment.lost);
      if (at >= part.first && at < part.end) window.missing += segment.lost;
    }
    at += segment.samples;
  }
  count(begin, at);
}

Received FileSource::ended() noexcept {
  if (fingerprint_) settings_.window->whole = fingerprint_->holds();
  return {.event = Received::Event::end};
}

Received FileSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  assert(static_cast<std::int64_t>(into.size()) == recording_.channels && most > 0);
  if (!playhead_.find_next() || playhead_.at() >= end_) return ended();
  std::int64_t samples = std::min({most, playhead_.left(), end_ - playhead_.at()});
  samples = std::min(samples, std::max(kMostBytesPerCall / file_.frame_bytes(), std::int64_t{1}));
  if (settings_.pace) samples = wait_until_due(samples);
  if (samples == 0) return {.event = Received::Event::nothing};
  if (!file_.read(into, samples, playhead_.byte())) return {.event = Received::Event::failed};
  Received received{.event = Received::Event::samples,
                    .samples = samples,
                    .lost = playhead_.take_lost(),
                    .has_time = recording_.has_time,
                    .time_ns = recording_.has_time ? playhead_.time_ns() : 0,
                    .since = playhead_.in_segment(),
                    .since_ns = recording_.has_time ? playhead_.segment_ns() : 0};
  if (const auto frequency = recording_.segments[playhead_.segment()].frequency_hz;
      frequency && *frequency != frequency_hz_) {
    frequency_hz_ = *frequency;
    received.tuned = 0;
  }
  playhead_.advance(samples);
  pace_.gave(samples);
  return received;
}

/// How many of the wanted samples are due by now; waits for about a millisecond's worth.
std::int64_t FileSource::wait_until_due(std::int64_t wanted) {
  const std::int64_t enough = std::min(wanted, static_cast<std::int64_t>(kPacedSeconds * recording_.rate_hz) + 1);
  if (const std::int64_t due = pace_.due(wanted, steady_ns()); due >= enough) return due;
  const double left_ns = std::clamp(pace_.ns_until(enough, steady_ns()), 0.0, kLongestWaitNs);
  pause_.wait(std::chrono::nanoseconds(static_cast<std::int64_t>(left_ns)));
  return pace_.due(wanted, steady_ns());
}

std::unique_ptr<FileSource> open_recording(const std::string& path, const RecordingKeys& keys,
                                           FileSourceSettings settings, const PartKeys& part) {
  std::vector<std::string> problems;
  Recording recording = read_recording(path, problems, keys);
  if (problems.empty())
    settings.part = played_part(part, recording, [&](std::string_view key, const std::string& what) {
      problems.push_back(fmt::format("{}: {} {}", path, key, what));
    });
  if (!problems.empty()) throw SetupError(fmt::format("{}", fmt::join(problems, "\n")));
  return std::make_unique<FileSource>(std::move(recording), settings);
}

}  // namespace iqd::radio
