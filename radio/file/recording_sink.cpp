// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/recording_sink.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "radio/file/archive_sink.hpp"
#include "radio/file/array_sink.hpp"
#include "radio/file/name_hints.hpp"
#include "radio/file/raw_sink.hpp"
#include "radio/file/sample_conversion.hpp"
#include "radio/file/staging.hpp"
#include "radio/file/wav_sink.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio {
namespace {

/// The format that the key names; for raw files without it, the one that the name says. Null: the port's.
const DiskFormat* wanted_format(const FileSinkSettings& settings) {
  if (!settings.format.empty()) return find_raw_format(settings.format);
  return container_of(settings.path) == Container::raw ? hints_in(settings.path).format : nullptr;
}

std::string unrecordable_raw(const FileSinkSettings& settings, const PortFormat& port) {
  const DiskFormat* const format = wanted_format(settings);
  if (!format)
    return fmt::format("{}: a raw file needs `format`, or a name such as NAME.cs16: {}", settings.path,
                       raw_format_names());
  if (!is_stream(port))
    return fmt::format("{} is {}; a raw file takes streams of samples, [n] or [channel][n]", port.port,
                       to_string(port.dims));
  if (can_write(*format, port.element)) return {};
  return fmt::format("{} is {}, which cannot be stored as {}, {} numbers", port.port, name_of(port.element),
                     format->name, format->complex ? "complex" : "real");
}

}  // namespace

std::string unrecordable(const FileSinkSettings& settings, const PortFormat& port) {
  if (std::string why = unwritable_name(settings.path); !why.empty()) return why;
  if (!settings.format.empty() && !find_raw_format(settings.format))
    return fmt::format("format {} is not known; iqd writes {}", settings.format, raw_format_names());
  switch (container_of(settings.path)) {
    case Container::raw: return unrecordable_raw(settings, port);
    case Container::wav: return unplayable(port, wanted_format(settings));
    case Container::npy:
      return settings.format.empty() ? "" : "an array has the port's own numbers; leave out `format`";
    case Container::sigmf:
    case Container::archive: break;
  }
  return unrecordable(port, wanted_format(settings));
}

std::unique_ptr<Sink> open_recording_sink(const FileSinkSettings& settings, const PortFormat& port) {
  if (const std::string why = unrecordable(settings, port); !why.empty()) throw SetupError(why);
  switch (container_of(settings.path)) {
    case Container::raw:
      return std::make_unique<RawSink>(settings.path, settings.overwrite, port, *wanted_format(settings));
    case Container::wav:
      return std::make_unique<WavSink>(settings.path, settings.overwrite, port, wanted_format(settings));
    case Container::npy:
      return std::make_unique<ArraySink>(settings.path, settings.overwrite, port,
                                         RecordingLabels{settings.description, settings.author, settings.hardware});
    case Container::archive: return std::make_unique<ArchiveSink>(settings, port);
    case Container::sigmf: break;
  }
  return std::make_unique<FileSink>(settings, port);
}

Need recording_sink_need(const FileSinkSettings& settings, const PortFormat& port) {
  switch (container_of(settings.path)) {
    case Container::raw: return {.what = "file " + settings.path, .bytes = kStagingBytes, .files = 1, .shared = true};
    case Container::wav: return WavSink::need(settings.path);
    case Container::npy: return ArraySink::need(settings.path, port);
    case Container::sigmf:
    case Container::archive: break;
  }
  return FileSink::need(settings.path, port);
}

}  // namespace iqd::radio
