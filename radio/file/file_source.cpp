// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/integer.hpp"
#include "base/log.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kStagingBytes = 256 << 10;     // fits a core's second-level cache
constexpr std::int64_t kMostBytesPerCall = 8 << 20;   // a slow disk brings that in about 100 ms
constexpr std::int64_t kLongestWaitNs = 100'000'000;  // of one call
constexpr double kPacedSeconds = 0.001;               // worth waiting for: less would only cost calls

/// Sample n of channel c stands at n * channels + c.
template <std::size_t Bytes>
void part_channels(const std::byte* from, std::span<std::byte* const> into, std::int64_t at, std::int64_t samples) {
  const std::size_t step = Bytes * into.size();
  for (std::size_t c = 0; c < into.size(); ++c) {
    const std::byte* source = from + c * Bytes;
    std::byte* target = into[c] + static_cast<std::size_t>(at) * Bytes;
    for (std::int64_t n = 0; n < samples; ++n, source += step, target += Bytes) std::memcpy(target, source, Bytes);
  }
}

/// ci8 becomes sc16 with the same full scale.
void part_and_widen(const std::byte* from, std::span<std::byte* const> into, std::int64_t at, std::int64_t samples) {
  for (std::size_t c = 0; c < into.size(); ++c) {
    const auto* source = reinterpret_cast<const std::int8_t*>(from) + 2 * c;
    auto* target = reinterpret_cast<sc16*>(into[c]) + at;
    for (std::int64_t n = 0; n < samples; ++n, source += 2 * into.size())
      target[n] = {static_cast<std::int16_t>(source[0] * 256), static_cast<std::int16_t>(source[1] * 256)};
  }
}

long double duration_ns(const Recording& r) {
  if (r.segments.empty()) return 0;
  const Segment& last = r.segments.back();
  const auto before_last =
      static_cast<long double>(last.time_ns) - static_cast<long double>(r.segments.front().time_ns);
  return before_last + static_cast<long double>(last.samples) * 1e9L / static_cast<long double>(r.meta.rate_hz);
}

}  // namespace

FileSource::FileSource(Recording recording, FileSourceSettings settings)
    : recording_(std::move(recording)),
      settings_(settings),
      round_ns_(duration_ns(recording_)),
      frequency_hz_(recording_.info().frequency_hz) {
  const std::string& path = recording_.paths.data;
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw SetupError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  if (recording_.announced > 0)
    log::warn(
        "{}: {} segments begin beyond the samples that are there, and are left out: the recorder was killed, or "
        "the file is cut short",
        path, recording_.announced);
  ::flock(file_, LOCK_SH | LOCK_NB);  // so that no sink overwrites what is played; a recording that grows may be read
  ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  const DiskFormat& format = *recording_.format;
  direct_ = recording_.meta.channels == 1 && format.bytes == static_cast<std::int64_t>(size_of(format.element));
  const std::int64_t frame = format.bytes * recording_.meta.channels;
  if (!direct_) staging_.resize(static_cast<std::size_t>(std::max(kStagingBytes / frame, std::int64_t{1}) * frame));
}

Need FileSource::need(const std::string& path, const StreamInfo& stream) {
  const auto frame = size_of(stream.element) * static_cast<std::size_t>(stream.channels);
  return {.what = "recording " + path, .bytes = std::max(static_cast<std::size_t>(kStagingBytes), frame), .files = 1};
}

FileSource::~FileSource() {
  ::close(file_);
}

StreamInfo FileSource::info() const {
  StreamInfo info = recording_.info();
  info.frequency_hz = frequency_hz_;
  return info;
}

void FileSource::interrupt() noexcept {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  interruption_.notify_all();
}

Received FileSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  assert(static_cast<std::int64_t>(into.size()) == recording_.meta.channels && most > 0);
  if (!next_segment()) return {.event = Received::Event::end};
  const std::int64_t frame = recording_.format->bytes * recording_.meta.channels;
  std::int64_t samples = std::min(most, recording_.segments[segment_].samples - position_);
  samples = std::min(samples, std::max(kMostBytesPerCall / frame, std::int64_t{1}));
  if (settings_.pace) samples = wait_until_due(samples);
  if (samples == 0) return {.event = Received::Event::nothing};
  if (!read(into, samples)) return {.event = Received::Event::failed};
  Received received{.event = Received::Event::samples,
                    .samples = samples,
                    .lost = lost_,
                    .has_time = recording_.has_time,
                    .time_ns = recording_.has_time ? time_ns() : 0};
  if (const auto frequency = recording_.meta.captures[segment_].frequency_hz;
      frequency && *frequency != frequency_hz_) {
    frequency_hz_ = *frequency;
    received.tuned = 0;
  }
  position_ += samples;
  given_ += samples;
  lost_ = 0;
  return received;
}

/// Steps to the segment that the next sample is in; false where there is none.
bool FileSource::next_segment() {
  const auto& segments = recording_.segments;
  for (bool wrapped = false; position_ >= segments[segment_].samples;) {
    position_ = 0;
    if (segment_ + 1 < segments.size()) {
      lost_ = saturated_add(lost_, segments[++segment_].lost);
      continue;
    }
    if (!settings_.repeat || wrapped) {
      position_ = segments[segment_].samples;
      return false;
    }
    wrapped = true;
    segment_ = 0;
    ++rounds_;
  }
  return true;
}

std::int64_t FileSource::time_ns() const noexcept {
  const auto in_segment =
      static_cast<long double>(position_) * 1e9L / static_cast<long double>(recording_.meta.rate_hz);
  const std::int64_t start = recording_.segments[segment_].time_ns;
  const auto time = static_cast<long double>(start) + in_segment + static_cast<long double>(rounds_) * round_ns_;
  return std::fabs(time) < 9e18L ? std::llround(time) : start;
}

/// How many of the wanted samples the radio would have sent by now; waits for about a millisecond's worth.
std::int64_t FileSource::wait_until_due(std::int64_t wanted) {
  if (start_ns_ < 0) start_ns_ = steady_ns();
  const double rate = recording_.meta.rate_hz;
  const auto due = [&] {
    const auto sent = static_cast<std::int64_t>(static_cast<double>(steady_ns() - start_ns_) * 1e-9 * rate);
    return std::clamp(sent - given_, std::int64_t{0}, wanted);
  };
  const std::int64_t enough = std::min(wanted, static_cast<std::int64_t>(kPacedSeconds * rate) + 1);
  const std::int64_t now = due();
  if (now >= enough) return now;
  const double seconds = static_cast<double>(given_ + enough) / rate;
  const double left_ns = seconds * 1e9 - static_cast<double>(steady_ns() - start_ns_);
  const auto wait =
      std::chrono::nanoseconds(static_cast<std::int64_t>(std::clamp(left_ns, 0.0, double{kLongestWaitNs})));
  std::unique_lock lock(mutex_);
  interruption_.wait_for(lock, wait, [this] { return interrupted_; });
  interrupted_ = false;
  return due();
}

bool FileSource::read(std::span<std::byte* const> into, std::int64_t samples) {
  const std::int64_t frame = recording_.format->bytes * recording_.meta.channels;
  const std::int64_t from = recording_.segments[segment_].byte + position_ * frame;
  if (direct_) return read_bytes(into[0], samples * frame, from);
  const std::int64_t piece = static_cast<std::int64_t>(staging_.size()) / frame;
  for (std::int64_t at = 0; at < samples; at += piece) {
    const std::int64_t n = std::min(piece, samples - at);
    if (!read_bytes(staging_.data(), n * frame, from + at * frame)) return false;
    switch (recording_.format->bytes) {
      case 8: part_channels<8>(staging_.data(), into, at, n); break;
      case 4: part_channels<4>(staging_.data(), into, at, n); break;
      default: part_and_widen(staging_.data(), into, at, n); break;
    }
  }
  return true;
}

bool FileSource::read_bytes(std::byte* into, std::int64_t bytes, std::int64_t from) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(file_, into + done, static_cast<std::size_t>(bytes - done), from + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      log::error("{}: {} at byte {}", recording_.paths.data, n < 0 ? std::strerror(errno) : "became shorter",
                 from + done);
      return false;
    }
    done += n;
  }
  return true;
}

}  // namespace iqd::radio
