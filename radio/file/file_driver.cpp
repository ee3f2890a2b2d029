// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_driver.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "config/fields.hpp"
#include "radio/file/array_sink.hpp"
#include "radio/file/file_sink.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/wav_sink.hpp"
#include "radio/trigger/triggered_sink.hpp"

namespace iqd::radio {
namespace {

class FileSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field("path", path_,
            {.help = "SigMF recording: its .sigmf-meta, its .sigmf-data, or the name without suffix",
             .required = true,
             .shapes = true});
    v.field("repeat", settings_.repeat, {.help = "repeat without end"});
    v.field("pace", settings_.pace, {.help = "play at the sample rate, not as fast as possible"});
    v.field("calibration", calibration_,
            {.help = "table of `iqd calibrate`, which removes channel differences before the first stage"});
  }
  StreamInfo describe(const Section& section) const override {
    std::vector<std::string> problems;
    if (path_.empty() && (!section.has("path") || section.is_wrong("path"))) return {};  // it is reported
    const Recording recording = read_recording(path_, problems);
    if (problems.empty()) check_length(recording, problems);
    for (std::string& p : problems) section.problem("path", std::move(p));
    return recording.info();
  }
  std::unique_ptr<Source> open() const override {
    std::vector<std::string> problems;
    Recording recording = read_recording(path_, problems);
    if (!problems.empty()) throw SetupError(problems.front());
    return std::make_unique<FileSource>(std::move(recording), settings_);
  }
  Needs needs(const StreamInfo& stream) const override { return {FileSource::need(path_, stream)}; }
  std::string path() const override { return path_; }
  std::string calibration() const override { return calibration_; }

 private:
  static void check_length(const Recording& recording, std::vector<std::string>& problems) {
    for (const Segment& s : recording.segments)
      if (s.samples > 0) return;
    problems.push_back(recording.paths.data + ": holds no samples");
  }

  std::string path_;
  FileSourceSettings settings_;
  std::string calibration_;
};

enum class Kind : std::uint8_t { sigmf, wav, npy };
Kind kind_of(const std::string& path) {
  return is_wav(path) ? Kind::wav : is_npy(path) ? Kind::npy : Kind::sigmf;
}
/// The data file, and the files beside it.
std::vector<std::string> files_of(const std::string& path) {
  switch (kind_of(path)) {
    case Kind::sigmf: return {sigmf_paths(path).data, sigmf_paths(path).meta};
    case Kind::wav: return {path};
    case Kind::npy: break;
  }
  return {path, messages_path(path), facts_path(path)};
}
class FileSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field("path", settings_.path,
            {.help = "SigMF recording to write: NAME.sigmf-meta and NAME.sigmf-data; NAME.wav: sound; "
                     "NAME.npy: an array of any port",
             .required = true});
    v.field("overwrite", settings_.overwrite, {.help = "replace an existing recording"});
    v.field("description", settings_.description, {.help = "core:description of the recording"});
    v.field("author", settings_.author, {.help = "core:author of the recording"});
    v.field("hw", settings_.hardware, {.help = "core:hw of the recording: the radio and antenna"});
    v.field("buffer", buffer_bytes_,
            {.help = "memory for samples of a stream that cannot wait while the disk is busy; beyond it, samples are "
                     "dropped",
             .unit = Unit::bytes,
             .low = 0,
             .high = 1LL << 40,
             .bare_low = 1024});
    v.group("trigger", triggered_, {.help = "record only around a trigger; without: everything"},
            [this](FieldVisitor& group) { trigger_.fields(group); });
  }
  void check(const PortFormat& format, const Section& section) const override {
    const Kind kind = kind_of(settings_.path);
    std::string why = !format.is_known()    ? ""
                      : kind == Kind::sigmf ? unrecordable(format)
                      : kind == Kind::wav   ? unplayable(format)
                                            : "";
    if (!why.empty()) section.problem("", std::move(why));
    if (triggered_) trigger_.check(format, section);
    if (settings_.path.empty()) return;
    if (kind == Kind::wav)
      for (const std::string_view key : {"description", "author", "hw"})
        if (section.has(key)) section.problem(key, "a WAV file cannot hold it; SigMF recordings and arrays can");
    const std::vector<std::string> files = files_of(settings_.path);
    const std::string folder = std::filesystem::path(files.front()).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
      section.problem("path", fmt::format("{}: the folder does not exist or is not writable", folder));
      return;
    }
    // After a reload, a recording in progress may be this pipeline's own: `open` decides.
    if (const std::string there = settings_.overwrite ? "" : existing_file(settings_.path); !there.empty())
      section.problem("path", there + " already exists; set overwrite: true or choose another path");
  }
  std::unique_ptr<Sink> open(const PortFormat& format) const override {
    return trigger_.put_before(open_file(format), format);
  }
  std::int64_t buffer_bytes() const override { return buffer_bytes_; }
  std::string path() const override { return settings_.path; }
  std::string keeps() const override { return settings_.overwrite ? "" : files_of(settings_.path).front(); }
  Needs needs(const PortFormat& format) const override {
    Needs needs = trigger_.needs(format);
    switch (kind_of(settings_.path)) {
      case Kind::sigmf: needs.push_back(FileSink::need(settings_.path, format)); break;
      case Kind::wav: needs.push_back(WavSink::need(settings_.path)); break;
      case Kind::npy: needs.push_back(ArraySink::need(settings_.path, format)); break;
    }
    return needs;
  }

 private:
  std::unique_ptr<Sink> open_file(const PortFormat& format) const {
    switch (kind_of(settings_.path)) {
      case Kind::sigmf: return std::make_unique<FileSink>(settings_, format);
      case Kind::wav: return std::make_unique<WavSink>(settings_.path, settings_.overwrite, format);
      case Kind::npy: break;
    }
    return std::make_unique<ArraySink>(settings_.path, settings_.overwrite, format,
                                       RecordingLabels{settings_.description, settings_.author, settings_.hardware});
  }

  FileSinkSettings settings_;
  std::int64_t buffer_bytes_ = 256 << 20;
  bool triggered_ = false;
  trigger::Settings trigger_;
};

}  // namespace

std::string existing_file(const std::string& path) {
  const std::vector<std::string> files = files_of(path);
  const auto exists = [](const std::string& file) { return ::access(file.c_str(), F_OK) == 0; };
  const auto first = std::ranges::find_if(files, exists);
  return first == files.end() || FrameFile::is_locked(files.front()) ? "" : *first;
}

DriverEntry file_driver() {
  DriverEntry entry;
  entry.name = "file";
  entry.summary = "plays and records SigMF, writes sound as WAV and any port as an array";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<FileSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<FileSinkOptions>()); };
  return entry;
}

}  // namespace iqd::radio
