// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/quantity.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/record/recording.hpp"
#include "daemon/run/daemon.hpp"
#include "pipeline/spec_plan.hpp"
#include "radio/file/disk_format.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

struct RecordOptions {
  std::vector<std::string> files;
  std::string pipeline;
  std::string port = "source";
  std::string format;
  std::string args;
  std::string rate;
  std::string frequency;
  std::string gain;
  std::string bandwidth;
  std::string antenna;
  std::vector<std::int64_t> channels;
  std::string description;
  std::string author;
  std::string hw;
  bool overwrite = false;
  double seconds = 0;
  std::int64_t samples = 0;
  std::string trigger;  // a condition, or the name of an event
  std::string pre = "0";
  std::string post = "1 s";
  std::int64_t count = 1;
  RunOptions run;

  const std::string& out() const { return files.back(); }
  /// Of the radio's stream or the pipeline's port; any other format is the file's.
  bool is_element() const { return element_named(format).has_value() && (format == "sc16" || format == "cf32"); }
  bool has_radio() const {
    return !(args + rate + frequency + gain + bandwidth + antenna).empty() || !channels.empty();
  }
};

void add_text(ordered_json& to, const char* key, const std::string& text) {
  if (!text.empty()) to[key] = text;
}

/// A fiftieth of a second, so that a short recording does not wait long for its first block.
std::int64_t block_for(const std::string& rate) {
  std::string ignored;
  const double hz = parse_quantity(rate, Unit::rate, ignored).value_or(0);
  return static_cast<std::int64_t>(std::clamp(hz / 50, 256.0, 65536.0));
}

ordered_json radio_document(const RecordOptions& o) {
  ordered_json soapy = {{"args", o.args}, {"rate", o.rate}};
  add_text(soapy, "frequency", o.frequency);
  add_text(soapy, "gain", o.gain);
  add_text(soapy, "bandwidth", o.bandwidth);
  add_text(soapy, "antenna", o.antenna);
  if (o.is_element()) add_text(soapy, "format", o.format);
  if (!o.channels.empty()) soapy["channels"] = o.channels;
  return {{"name", "record"}, {"source", {{"soapy", soapy}}}, {"block", block_for(o.rate)}};
}

ordered_json recording_document(const RecordOptions& o) {
  ordered_json file = {{"path", o.files.front()}};
  add_text(file, "rate", o.rate);
  add_text(file, "frequency", o.frequency);
  return {{"name", "record"}, {"source", {{"file", file}}}};
}

/// Adds the sink, and a convert stage before it, to a pipeline's document.
void add_sink(ordered_json& document, const RecordOptions& o, bool convert) {
  constexpr const char* kConverted = "recording";
  if (convert) document["stages"] = {{{"convert", {{"name", kConverted}, {"from", o.port}, {"dtype", o.format}}}}};
  ordered_json file = {{"path", o.out()}, {"overwrite", o.overwrite}};
  add_text(file, "description", o.description);
  add_text(file, "author", o.author);
  add_text(file, "hw", o.hw);
  if (!o.is_element()) add_text(file, "format", o.format);
  const std::string port = convert ? std::string(kConverted) + ".out" : o.port;
  document["sinks"] = {{{"port", port}, {"file", file}}};
}

constexpr const char* kComposed = "command line";

/// Lines and columns of a generated text would mislead the user. The port is an option.
void hide_places(Problems& problems) {
  for (Problem& p : problems) {
    if (p.place.file != kComposed) continue;
    p.place.line = p.place.column = 0;
    if (!p.path.ends_with(".port")) continue;
    p.place.file = "--port";
    p.path.clear();
  }
}

/// JSON is YAML: reading the composed text makes all the checks of a file.
Spec read_composed(const ordered_json& document, Problems& problems) {
  std::string text;
  try {
    text = document.dump();
  } catch (const ordered_json::type_error&) {
    throw UsageError("an argument is not UTF-8");
  }
  Problems found;
  const Document parsed = parse_document(text, kComposed, found);
  Spec spec;
  if (found.empty()) spec = read_spec(parsed, catalogue(), problems);
  problems.insert(problems.begin(), found.begin(), found.end());
  hide_places(problems);
  return spec;
}

std::unique_ptr<Loaded> load_composed(const RecordOptions& o, ordered_json document, bool convert) {
  if (o.port != "source") throw UsageError(fmt::format("record: --port {} needs a pipeline file with it", o.port));
  auto loaded = std::make_unique<Loaded>();
  add_sink(document, o, convert);
  loaded->spec = read_composed(document, loaded->problems);
  return loaded;
}

std::unique_ptr<Loaded> load_radio(const RecordOptions& o) {
  if (o.rate.empty())
    throw UsageError("record: give --rate (and --args for a specific radio), or a pipeline file first");
  return load_composed(o, radio_document(o), false);
}

/// A recording takes the place of the radio: parts of it, or what is around a trigger, become another one.
std::unique_ptr<Loaded> load_recording(const RecordOptions& o) {
  if (!(o.args + o.gain + o.bandwidth + o.antenna).empty() || !o.channels.empty())
    throw UsageError(fmt::format("record: {} is a recording, which has only --rate and --frequency", o.files.front()));
  return load_composed(o, recording_document(o), o.is_element());
}

/// Overwriting the file being played would destroy both.
void refuse_own_source(const Spec& spec, const RecordOptions& o) {
  for (const PipelineSpec& p : spec.pipelines) {
    const std::string played = p.source->path();
    if (played.empty()) continue;
    for (const std::string& in : radio::recording_files(played))
      for (const std::string& out : radio::recording_files(o.out())) {
        std::error_code ignored;
        if (std::filesystem::equivalent(in, out, ignored))
          throw UsageError(fmt::format("record: {} is the file being played; choose another path", o.out()));
      }
  }
}

std::unique_ptr<Loaded> load_file(const RecordOptions& o) {
  if (o.has_radio()) throw UsageError("record: the pipeline file defines the radio; leave out the radio options");
  auto loaded = load(o.files.front());
  if (!loaded->problems.empty()) return loaded;
  PipelineSpec& pipeline = choose_pipeline("record", loaded->spec, o.pipeline);
  ordered_json document = {{"source", {{"generate", {{"rate", "1 S/s"}}}}}};
  add_sink(document, o, o.is_element());
  Spec added = read_composed(document, loaded->problems);
  if (!loaded->problems.empty()) return loaded;
  PipelineSpec& from = added.pipelines.front();
  std::move(from.stages.begin(), from.stages.end(), std::back_inserter(pipeline.stages));
  std::move(from.sinks.begin(), from.sinks.end(), std::back_inserter(pipeline.sinks));
  return loaded;
}

double seconds_of(const char* option, const std::string& text) {
  std::string why;
  const auto seconds = parse_quantity(text, Unit::seconds, why);
  if (!seconds || !(*seconds >= 0 && *seconds <= 3600))
    throw UsageError(fmt::format("record: {} {}: expected 0 to 3600 s, such as `2 s` or `500 ms`", option, text));
  return *seconds;
}

radio::trigger::Settings trigger_of(const RecordOptions& o) {
  radio::trigger::Settings trigger;
  if (o.trigger.empty()) return trigger;
  std::string why;
  const bool is_condition = o.trigger.find_first_of("<>") != std::string::npos;
  if (is_condition && !radio::trigger::parse_condition(o.trigger, why))
    throw UsageError(fmt::format("record: --trigger '{}': {}", o.trigger, why));
  (is_condition ? trigger.when : trigger.name) = o.trigger;
  trigger.pre_s = seconds_of("--pre", o.pre);
  trigger.post_s = seconds_of("--post", o.post);
  trigger.count = o.count;
  return trigger;
}

/// Keeps a silent radio from blocking a recording of a given length forever.
double deadline(const PipelineSpec& pipeline, const RecordOptions& o) {
  if (!o.trigger.empty()) return 0;  // a trigger may never come
  Problems unused;
  const StreamInfo stream = pipeline.source->describe(Section("", {}, unused));
  if (stream.can_wait) return 0;
  double seconds = o.seconds;
  if (seconds == 0 && o.samples > 0 && o.port == "source" && stream.rate_hz > 0)
    seconds = static_cast<double>(o.samples) / stream.rate_hz;
  return seconds > 0 ? 1.1 * seconds + 5 : 0;
}

std::shared_ptr<RecordingLimit> set_limit(Loaded& loaded, RecordOptions& o) {
  auto limit = std::make_shared<RecordingLimit>();
  limit->samples = o.samples;
  limit->seconds = o.seconds;
  PipelineSpec& recorded = choose_pipeline("record", loaded.spec, o.pipeline);
  o.run.seconds = deadline(recorded, o);
  SinkSpec& sink = recorded.sinks.back();
  sink.options = limit_sink(std::move(sink.options), limit, trigger_of(o));
  for (PipelineSpec& p : loaded.spec.pipelines) p.source = limit_source(std::move(p.source), limit);
  return limit;
}

Exit record(RecordOptions o) {
  if (o.samples < 0) throw UsageError("record: --samples must not be negative");
  if (o.count < 0) throw UsageError("record: --count must not be negative");
  if (!(o.seconds >= 0 && o.seconds < 1e9)) throw UsageError("record: --seconds must be 0 to 1e9");
  refuse_existing("record", o.out(), o.overwrite);
  auto loaded = o.files.size() == 1                       ? load_radio(o)
                : radio::names_recording(o.files.front()) ? load_recording(o)
                                                          : load_file(o);
  std::shared_ptr<RecordingLimit> limit;
  if (loaded->problems.empty()) {
    limit = set_limit(*loaded, o);
    check_spec(loaded->spec, catalogue(), loaded->problems);
  }
  hide_places(loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  refuse_own_source(loaded->spec, o);
  const Exit exit = run_pipelines(std::move(loaded), o.run);
  if (exit == Exit::configuration) return exit;
  const std::int64_t recorded = limit->recorded;
  fmt::print(stderr, "{}: {}\n", o.out(), limit->summary());
  if (limit->refused || recorded == 0) return Exit::failed;
  if (o.samples > 0 && recorded < o.samples && !limit->reached) {
    fmt::print(stderr, "iqd: {} samples were requested\n", o.samples);
    return Exit::failed;
  }
  return exit;
}

}  // namespace

void add_record(CommandLine& line) {
  auto o = std::make_shared<RecordOptions>();
  line.command("record", "record a radio, or a port of a pipeline, as SigMF, WAV, NumPy array or raw samples",
               [o] { return record(*o); })
      .option("FILES", &o->files,
              "[PIPELINE.yaml or a recording] RECORDING.sigmf-meta, .sigmf, .wav, .npy, .cu8, .cs16, .cf32 …",
              {.required = true, .words = {{1, 2}}})
      .option("--args", &o->args, "without a pipeline file: the radio's SoapySDR arguments, e.g. driver=iqdsim")
      .option("--rate", &o->rate, "sample rate, e.g. \"1 MS/s\"")
      .option("--frequency", &o->frequency, "centre frequency, e.g. \"1.4515 GHz\"")
      .option("--channels", &o->channels, "e.g. 0,1", {.separator = ','})
      .option("--gain", &o->gain, "overall gain, e.g. \"30 dB\"")
      .option("--antenna", &o->antenna, "antenna port")
      .option("--bandwidth", &o->bandwidth, "analogue filter")
      .option("--format", &o->format, "samples of the recording: sc16 or cf32, or what the file has: cu8, cs8, s16 …")
      .option("--pipeline", &o->pipeline, "which one, if the file has several")
      .option("--port", &o->port, "stage.output of the pipeline file, or source (source)")
      .option("--seconds", &o->seconds, "seconds of signal to record")
      .option("--samples", &o->samples, "exact number of samples of each channel to record")
      .option("--trigger", &o->trigger,
              "record only around a trigger: a condition, \"level > -20 dB\", \"peak > -1 dB\", \"value > 0.5\", "
              "\"gap > 0\", \"time > 2026-03-31T12:00:00Z\"; or the name of an event (POST /api/triggers/NAME, "
              "SIGUSR1)")
      .option("--pre", &o->pre, "time to record before the trigger, e.g. 2s (0)")
      .option("--post", &o->post, "time to record after the trigger, e.g. 5s (1 s)")
      .option("--count", &o->count, "end after this many triggers; 0: never (1)")
      .option("--overwrite", &o->overwrite, "replace an existing recording")
      .option("--description", &o->description, "written into the recording")
      .option("--author", &o->author, "written into the recording")
      .option("--hw", &o->hw, "written into the recording: radio and antenna")
      .option("--status", &o->run.status, "print a status to standard output each second: json, table or none",
              {.one_of = {"json", "table", "none"}});
}

}  // namespace iqd
