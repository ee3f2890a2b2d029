// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "signal/filters/interleave.hpp"

namespace iqd::radio {
namespace {

constexpr std::size_t kStagingBytes = 256u << 10;  // fits a core's second-level cache
constexpr std::size_t kMostHeldBytes = 64u << 20;
constexpr std::int64_t kAgainNs = 100'000'000;
constexpr std::int64_t kMetaShare = 20;  // metadata are written for at most one part in so many of the time

std::int64_t channel_count(const PortFormat& format) {
  return format.dims.size() == 2 ? format.dims.front().extent : 1;
}

std::int64_t frame_bytes(const PortFormat& format) {
  return channel_count(format) * static_cast<std::int64_t>(size_of(format.element));
}

/// The paths, where this can be recorded and may be there.
SigmfPaths free_paths(const FileSinkSettings& settings, const PortFormat& format) {
  if (const std::string why = unrecordable(format); !why.empty()) throw SetupError(why);
  SigmfPaths paths = sigmf_paths(settings.path);
  for (const std::string& path : {paths.meta, paths.data}) {
    if (!settings.overwrite && ::access(path.c_str(), F_OK) == 0)
      throw SetupError(fmt::format("{}: is there already; set overwrite: true or choose another path", path));
  }
  return paths;
}

}  // namespace

std::string unrecordable(const PortFormat& format) {
  const std::string dims = to_string(format.dims);
  if (format.element == Element::f16 || format.element == Element::i64) {
    return fmt::format("{} is {}, which SigMF does not have; convert it to {} first", format.port,
                       name_of(format.element), format.element == Element::f16 ? "f32" : "i32");
  }
  const bool stream = (format.dims.size() == 1 || format.dims.size() == 2) &&
                      format.varying == static_cast<int>(format.dims.size()) - 1 && format.item_rate_hz > 0;
  if (!stream) {
    return fmt::format(
        "{} is {}; a SigMF recording takes streams of samples, [n] or [channel][n]; a path that ends in .npy takes "
        "any port",
        format.port, dims);
  }
  if (format.item_rate_hz < 1 || format.item_rate_hz > 1e12) {
    return fmt::format("{} has {} samples a second; SigMF takes 1 to 1e12", format.port, format.item_rate_hz);
  }
  if (channel_count(format) > kMostSigmfChannels)
    return fmt::format("{} is {}; SigMF takes up to {} channels", format.port, dims, kMostSigmfChannels);
  return {};
}

FileSink::FileSink(const FileSinkSettings& settings, const PortFormat& format)
    : format_(format),
      paths_(free_paths(settings, format)),
      meta_file_(paths_.meta),
      channels_(channel_count(format)),
      period_(format.rate_hz > 0 ? format.rate_hz / format.item_rate_hz : 1),
      data_(paths_.data, frame_bytes(format)) {
  meta_.datatype = traits(format.element).sigmf;
  meta_.rate_hz = format.item_rate_hz;
  meta_.channels = channels_;
  meta_.description = settings.description;
  meta_.author = settings.author;
  meta_.hardware = settings.hardware.empty() ? format.hardware : settings.hardware;
  const auto frame = static_cast<std::size_t>(frame_bytes(format));
  if (channels_ > 1) staging_.resize(std::max(kStagingBytes / frame, std::size_t{1}) * frame);
  // An old recording loses its metadata before its samples: at no moment do they describe what is not theirs.
  meta_file_.remove();
  data_.cut(0);
  if (!meta_file_.write(sigmf_text(meta_)))
    throw SetupError(fmt::format("{}: cannot be written: {}", paths_.meta, std::strerror(errno)));
}

Need FileSink::need(const std::string& path, const PortFormat& format) {
  // What came before the metadata tell of it is held back: a message, or more while they take their time.
  const auto message = static_cast<std::size_t>(format.bytes(format.most()));
  const std::size_t staging = channel_count(format) > 1 ? kStagingBytes : 0;
  return {.what = "recording " + path, .bytes = message + staging, .more = kMostHeldBytes, .files = 2, .shared = true};
}

FileSink::~FileSink() {
  try {
    finish();
  } catch (const std::exception& e) {
    log::error("{}: {}", paths_.data, e.what());
  }
}

bool FileSink::send(const Message& message) {
  if (stopped_) return false;
  if (message.tuned >= 0) tuned_ = message.tuned;
  if (message.trigger) annotate(*message.trigger);
  if (message.extent <= 0) return flush_if_due();
  const std::int64_t before = items_as_before(message);
  if (before > 0) {
    if (begins_segment(message)) begin_segment(message, 0, started_ ? frequency_hz_ : message.format->frequency_hz);
    if (!record(message, 0, before)) return false;
    if (before == message.extent) return true;
  }
  if (tuned_ >= 0 || begins_segment(message)) begin_segment(message, before, message.frequency_hz());
  tuned_ = -1;
  return record(message, before, message.extent - before);
}

/// Of a message, how many items were taken before the radio was set otherwise.
std::int64_t FileSink::items_as_before(const Message& message) const noexcept {
  if (tuned_ <= message.sample) return 0;
  const double items = std::ceil(static_cast<double>(tuned_ - message.sample) / period_);
  return items < static_cast<double>(message.extent) ? static_cast<std::int64_t>(items) : message.extent;
}

bool FileSink::record(const Message& message, std::int64_t first, std::int64_t count) {
  return flush_if_due() && append(message, first, count);
}

bool FileSink::flush_if_due() {
  const bool may_write_meta = steady_ns() >= next_meta_ns_ || held_.size() >= kMostHeldBytes;
  return !meta_stale_ || !may_write_meta || flush();
}

void FileSink::finish() {
  if (stopped_) return;
  finishes_ = true;
  for (SigmfAnnotation& a : awaited_) a.sample_count = std::min(a.sample_count, items_ - a.sample_start);
  std::erase_if(awaited_, [](const SigmfAnnotation& a) { return a.sample_count <= 0; });
  show_annotations();
  if (meta_stale_) flush();
}

/// Its samples are still to come, and an annotation never reaches beyond the data.
void FileSink::annotate(const Trigger& trigger) {
  SigmfAnnotation annotation{items_ + trigger.first, trigger.items, std::string(trigger.reason), {}};
  annotation.comment = fmt::format("trigger {}", trigger.number);
  if (trigger.time_ns != 0) annotation.comment += " at " + format_iso_time(trigger.time_ns);
  awaited_.push_back(std::move(annotation));
}

/// Those whose samples have all come.
void FileSink::show_annotations() {
  while (!awaited_.empty() && awaited_.front().end() <= items_) {
    meta_.annotations.push_back(std::move(awaited_.front()));
    awaited_.pop_front();
    meta_stale_ = true;
  }
}

bool FileSink::begins_segment(const Message& message) const noexcept {
  if (!started_ || message.gap > 0) return true;
  if (tuned_ < 0 && message.frequency_hz() != frequency_hz_) return true;
  const double expected = origin_ + static_cast<double>(items_ - origin_item_) * period_;
  // Half an item is what rounding to whole source samples can make out, and a sample at least.
  return std::fabs(static_cast<double>(message.sample) - expected) >= std::max(1.0, period_ / 2);
}

/// From this item of the message on.
void FileSink::begin_segment(const Message& message, std::int64_t item, double frequency_hz) {
  SigmfCapture capture;
  capture.sample_start = items_;
  const auto at_item = [this](std::int64_t sample) { return std::llround(static_cast<double>(sample) / period_); };
  std::int64_t index = std::max<std::int64_t>(at_item(message.sample) + item + index_offset_, 0);
  if (!meta_.captures.empty() && started_) {
    const SigmfCapture& last = meta_.captures.back();
    const std::int64_t next = *last.global_index + items_ - last.sample_start;
    // A stream that began anew counts from zero again, which global_index must not.
    if (index < next) {
      index_offset_ += next + at_item(message.gap) - index;
      index = next + at_item(message.gap);
    }
  }
  capture.global_index = index;
  frequency_hz_ = frequency_hz;
  if (frequency_hz_ != 0) capture.frequency_hz = frequency_hz_;
  if (message.time_ns != 0)
    capture.time = IsoTime{message.time_ns + std::llround(static_cast<double>(item) * 1e9 / format_.item_rate_hz), 1};
  meta_.captures.push_back(std::move(capture));
  origin_ = static_cast<double>(message.sample) + static_cast<double>(item) * period_;
  origin_item_ = items_;
  started_ = true;
  meta_stale_ = true;
}

bool FileSink::append(const Message& message, std::int64_t first, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(size_of(format_.element));
  const std::int64_t frame = channels_ * size;
  bool kept = true;
  if (channels_ == 1) {
    kept = put(message.payload.subspan(static_cast<std::size_t>(first * size), static_cast<std::size_t>(count * size)));
  } else {
    const std::int64_t piece = static_cast<std::int64_t>(staging_.size()) / frame;
    for (std::int64_t at = first; kept && at < first + count; at += piece) {
      const std::int64_t n = std::min(piece, first + count - at);
      const std::byte* from = message.payload.data() + at * size;
      interleave(from, static_cast<std::size_t>(size), channels_, message.extent, n, staging_.data());
      kept = put(std::span(staging_).first(static_cast<std::size_t>(n * frame)));
    }
  }
  items_ += count;
  show_annotations();
  return kept;
}

/// To the file, or behind what is held back already.
bool FileSink::put(std::span<const std::byte> frames) {
  if (meta_stale_) {
    held_.insert(held_.end(), frames.begin(), frames.end());
    return true;
  }
  return data_.append(frames) || stop(paths_.data);
}

bool FileSink::flush() {
  const std::int64_t began = steady_ns();
  if (!meta_file_.write(sigmf_text(meta_))) {
    if (!is_passing(errno) || finishes_ || held_.size() >= kMostHeldBytes) return stop(paths_.meta);
    next_meta_ns_ = began + kAgainNs;
    return true;
  }
  const std::int64_t now = steady_ns();
  next_meta_ns_ = now + kMetaShare * (now - began);
  meta_stale_ = false;
  return held_.empty() || write_held();
}

/// The metadata go first: a kill between the two leaves segments that begin beyond the data, which readers leave out,
/// and not samples whose gaps nobody knows. What found no room is taken back.
bool FileSink::write_held() {
  const bool appended = data_.append(held_);
  const int why = errno;
  held_.clear();
  if (appended) return true;
  while (meta_.captures.back().sample_start > data_.frames()) meta_.captures.pop_back();
  std::erase_if(meta_.annotations, [this](const SigmfAnnotation& a) { return a.end() > data_.frames(); });
  meta_file_.write(sigmf_text(meta_));
  errno = why;
  return stop(paths_.data);
}

/// Always false.
bool FileSink::stop(const std::string& file) {
  if (!stopped_) {
    log::error("{}: cannot be written any more: {}; recording has stopped after {} samples", file, std::strerror(errno),
               data_.frames());
  }
  stopped_ = true;
  return false;
}

}  // namespace iqd::radio
