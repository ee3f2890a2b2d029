// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_driver.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/error.hpp"
#include "config/fields.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/file/recording_sink.hpp"
#include "radio/trigger/triggered_sink.hpp"
#include "radio/window/window_sink.hpp"

namespace iqd::radio {
namespace {

class FileSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field(
        "path", path_,
        {.help = "recording: SigMF (its .sigmf-meta, its .sigmf-data, the name without suffix, or a .sigmf archive), "
                 "WAV, a NumPy array, or a raw file",
         .required = true,
         .shapes = true,
         .file = true,
         .suffix = ".sigmf-meta"});
    v.field("format", keys_.format,
            {.help = "samples of a raw file: cu8, cs8, cs16, cf32 …; without: as its name says", .shapes = true});
    v.field("rate", keys_.rate_hz,
            {.help = "sample rate, if the file does not say it, or says a wrong one", .unit = Unit::rate, .low = 0});
    v.field("frequency", keys_.frequency_hz, {.help = "centre frequency; the same", .unit = Unit::hertz, .low = 0});
    v.field("channels", keys_.channels,
            {.help = "interleaved channels of a raw file (1). Of a WAV file: as many as it has are real, half as many "
                     "have I and Q",
             .low = 0,
             .high = kMostSigmfChannels,
             .shapes = true});
    v.field("start", part_.start,
            {.help = "first sample that becomes results, as a number of samples or a time; the ones before it are only "
                     "past"});
    v.field("samples", part_.samples,
            {.help = "how many become results, or for how long; fewer if the recording ends"});
    v.field("warm", part_.warm,
            {.help = "so many samples before `start`, or before a window, stages with a state begin; no results"});
    v.field("window", part_.window,
            {.help = "K/N: only the K-th of N windows, from 0, for `iqd join`; as `iqd run --window` sets it"});
    v.field("repeat", settings_.repeat, {.help = "repeat without end"});
    v.field("pace", settings_.pace, {.help = "play at the sample rate, not as fast as possible"});
    v.field("calibration", calibration_,
            {.help = "table of `iqd calibrate`, which removes channel differences before the first stage"});
  }
  StreamInfo describe(const Section& section) const override {
    std::vector<std::string> problems;
    if (path_.empty() && (!section.has("path") || section.is_wrong("path"))) return {};  // it is reported
    const Recording recording = read_recording(path_, problems, keys_);
    if (problems.empty() && recording.samples() == 0) problems.push_back(recording.data + ": holds no samples");
    StreamInfo info = recording.info();
    if (problems.empty())
      info.edges = played_part(part_, recording, [&](std::string_view key, std::string what) {
                     section.problem(key, std::move(what));
                   }).edges;
    for (std::string& p : problems) section.problem("path", std::move(p));
    for (const std::string_view key : {"start", "samples", "warm", "window"})
      if (settings_.repeat && section.has(key))
        section.problem(key, "cannot be set with repeat, which plays the whole recording");
    if (section.has("warm") && !section.has("start") && !section.has("window"))
      section.warning("warm", "has no effect without start or window: nothing lies before the recording");
    return info;
  }
  std::unique_ptr<Source> open() const override {
    FileSourceSettings settings = settings_;
    settings.window = window_;
    return open_recording(path_, keys_, settings, part_);
  }
  Needs needs(const StreamInfo& stream) const override { return {FileSource::need(path_, stream)}; }
  std::string path() const override { return path_; }
  std::string calibration() const override { return calibration_; }
  std::shared_ptr<PlayedWindow> window() const override {
    if (window_ || part_.window.empty()) return window_;
    window_ = std::make_shared<PlayedWindow>();
    std::tie(window_->number, window_->count) = window_in(part_.window).value_or(std::pair(0, 1));
    window_->warmed = !part_.warm.empty();
    return window_;
  }

 private:
  std::string path_;
  RecordingKeys keys_;
  PartKeys part_;
  FileSourceSettings settings_;
  std::string calibration_;
  mutable std::shared_ptr<PlayedWindow> window_;
};

class FileSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field(
        "path", settings_.path,
        {.help = "recording to write: NAME.sigmf-meta and NAME.sigmf-data; NAME.sigmf: an archive of both; NAME.wav; "
                 "NAME.cu8, NAME.cs16 …: raw samples; NAME.npy: an array of any port",
         .required = true});
    v.field(
        "format", settings_.format,
        {.help = "samples in the file: cu8, cs8, cs16, cf32 …; without: as its name says, or as the port has them"});
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
    if (format.is_known())
      if (std::string why = unrecordable(settings_, format); !why.empty()) section.problem("", std::move(why));
    if (triggered_) trigger_.check(format, section);
    if (window_ && !trigger_.name.empty())
      section.problem("", "waits for an event, which other windows do not see: leave it out, or set `when`");
    if (settings_.path.empty()) return;
    refuse_labels(section);
    if (is_open_) return;
    const std::vector<std::string> files = recording_files(settings_.path);
    const std::string folder = std::filesystem::path(files.front()).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
      section.problem("path", fmt::format("{}: the folder does not exist or is not writable", folder));
      return;
    }
    // After a reload, a recording in progress may be this pipeline's own: `open` decides.
    if (const std::string there = settings_.overwrite || window_ ? "" : existing_file(settings_.path); !there.empty())
      section.problem("path", there + " already exists; set overwrite: true or choose another path");
  }
  std::unique_ptr<Sink> open(const PortFormat& format) const override {
    if (window_) return std::make_unique<WindowSink>(settings_.path, entry_, window_, format);
    return trigger_.put_before(open_recording_sink(settings_, format), format);
  }
  void note_open() override { is_open_ = true; }
  void enter_window(const std::shared_ptr<PlayedWindow>& window, const std::string& entry) override {
    window_ = window;
    entry_ = entry;
    window_->sinks.push_back(settings_.path);
  }
  bool takes_empty() const override { return window_ != nullptr; }
  std::int64_t buffer_bytes() const override { return buffer_bytes_; }
  std::string path() const override { return settings_.path; }
  Claims claims() const override {
    if (settings_.path.empty()) return {};
    return {{Claim::Kind::file, recording_files(settings_.path).front(), "path"}};
  }
  std::string keeps() const override {
    return settings_.overwrite || window_ ? "" : recording_files(settings_.path).front();
  }
  Needs needs(const PortFormat& format) const override {
    Needs needs = trigger_.needs(format);
    needs.push_back(recording_sink_need(settings_, format));
    return needs;
  }

 private:
  void refuse_labels(const Section& section) const {
    const Container container = container_of(settings_.path);
    if (container != Container::wav && container != Container::raw) return;
    for (const std::string_view key : {"description", "author", "hw"})
      if (section.has(key))
        section.problem(key, fmt::format("a {} file cannot hold it; SigMF recordings and arrays can",
                                         container == Container::wav ? "WAV" : "raw"));
  }

  FileSinkSettings settings_;
  std::int64_t buffer_bytes_ = 256 << 20;
  bool triggered_ = false;
  bool is_open_ = false;
  trigger::Settings trigger_;
  std::shared_ptr<PlayedWindow> window_;
  std::string entry_;
};

}  // namespace

std::string existing_file(const std::string& path) {
  const std::vector<std::string> files = recording_files(path);
  const auto exists = [](const std::string& file) { return ::access(file.c_str(), F_OK) == 0; };
  const auto first = std::ranges::find_if(files, exists);
  return first == files.end() || FrameFile::is_locked(files.front()) ? "" : *first;
}

DriverEntry file_driver() {
  DriverEntry entry;
  entry.name = "file";
  entry.summary = "plays and records SigMF, WAV, NumPy arrays and raw files; writes any port as an array";
  entry.other_names = "sigmf wav npy numpy raw recording cu8 cs8 cs16 cf32";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<FileSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<FileSinkOptions>()); };
  return entry;
}

}  // namespace iqd::radio
