// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/raw_sink.hpp"
#include "radio/file/sample_conversion.hpp"
#include "radio/file/staging.hpp"

namespace iqd::radio {
namespace {

std::int64_t channel_count(const PortFormat& format) {
  return format.dims.size() == 2 ? format.dims.front().extent : 1;
}

/// The format that the settings name; null: the port's.
const DiskFormat* stored_format(const FileSinkSettings& settings) {
  if (settings.format.empty()) return nullptr;
  const DiskFormat* const named = find_raw_format(settings.format);
  if (!named)
    throw SetupError(fmt::format("format {} is not known; iqd writes {}", settings.format, raw_format_names()));
  return named;
}

/// Returns the paths, if the port can be recorded and the files may be written.
SigmfPaths free_paths(const FileSinkSettings& settings, const PortFormat& format) {
  if (const std::string why = unrecordable(format, stored_format(settings)); !why.empty()) throw SetupError(why);
  SigmfPaths paths = sigmf_paths(settings.path);
  for (const std::string& path : {paths.meta, paths.data}) {
    if (!settings.overwrite && ::access(path.c_str(), F_OK) == 0)
      throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", path));
  }
  return paths;
}

SigmfFiles create_files(const FileSinkSettings& settings, const PortFormat& format, std::int64_t frame) {
  SigmfPaths paths = free_paths(settings, format);
  SigmfMeta meta;
  const DiskFormat* const stored = stored_format(settings);
  meta.datatype = stored ? stored->name : traits(format.element).sigmf;
  meta.rate_hz = format.item_rate_hz;
  meta.channels = channel_count(format);
  meta.description = settings.description;
  meta.author = settings.author;
  meta.hardware = settings.hardware.empty() ? format.hardware : settings.hardware;
  return {std::move(paths), std::move(meta), frame};
}

}  // namespace

std::string unrecordable(const PortFormat& format, const DiskFormat* stored) {
  const std::string dims = to_string(format.dims);
  if (stored && !can_write(*stored, format.element))
    return fmt::format("{} is {}, which cannot be stored as {}", format.port, name_of(format.element), stored->name);
  if (stored && (stored->number == Number::f16 || stored->number == Number::i24))
    return fmt::format("SigMF does not support {}", stored->name);
  if (!stored && (format.element == Element::f16 || format.element == Element::i64)) {
    return fmt::format("{} is {}, which SigMF does not support; convert it to {} first", format.port,
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
    : encoder_(format, stored_format(settings)),
      files_(create_files(settings, format, encoder_.frame_bytes())),
      captures_(format) {
  for (const SigmfAnnotation& annotation : settings.annotations) awaited_.add(annotation);
}

Need FileSink::need(const std::string& path, const PortFormat& format) {
  // Samples are held until their metadata are written: a message, or more while that takes time.
  const auto message = static_cast<std::size_t>(format.bytes(format.most()));
  const std::size_t staging = channel_count(format) > 1 ? kStagingBytes : 0;
  return {.what = "recording " + path,
          .bytes = message + staging,
          .more = SigmfFiles::kMostHeldBytes,
          .files = 2,
          .shared = true};
}

FileSink::~FileSink() {
  try {
    close();
  } catch (const std::exception& e) {
    log::error("{}: {}", files_.paths().data, e.what());
  }
}

bool FileSink::send(const Message& message) {
  if (files_.has_stopped()) return false;
  captures_.note_retune(message);
  if (message.trigger) awaited_.add(*message.trigger, items_);
  if (message.extent <= 0) return files_.flush_if_due();
  const std::int64_t before = captures_.items_before_retune(message);
  if (before > 0) {
    begin(captures_.before_retune(message, items_));
    if (!record(message, 0, before)) return false;
    if (before == message.extent) return true;
  }
  begin(captures_.after_retune(message, before, items_));
  return record(message, before, message.extent - before);
}

void FileSink::begin(std::optional<SigmfCapture> capture) {
  if (capture) files_.add(*std::move(capture));
}

bool FileSink::record(const Message& message, std::int64_t first, std::int64_t count) {
  return files_.flush_if_due() && append(message, first, count);
}

bool FileSink::append(const Message& message, std::int64_t first, std::int64_t count) {
  const bool kept = encoder_.encode(message, first, count, [this](auto frames) { return files_.put(frames); });
  items_ += count;
  show_annotations();
  return kept;
}

void FileSink::show_annotations() {
  for (SigmfAnnotation& annotation : awaited_.take_complete(items_)) files_.add(std::move(annotation));
}

void FileSink::finish() {
  if (!close()) throw SetupError(files_.paths().data + ": its end cannot be written");
}

/// False if it cannot be written, which is logged.
bool FileSink::close() {
  if (files_.has_stopped()) return true;
  awaited_.cut(items_);
  show_annotations();
  files_.finish();
  if (!std::exchange(finished_, true)) log_clipped(files_.paths().data, encoder_.clipped());
  return !files_.has_stopped();
}

}  // namespace iqd::radio
