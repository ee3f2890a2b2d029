// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "config/quantity.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/record/capture.hpp"
#include "pipeline/meters/level_meter.hpp"
#include "pipeline/spec/calibration_table.hpp"
#include "radio/file/iso_time.hpp"
#include "signal/channels/channel_match.hpp"

namespace iqd {
namespace {

constexpr double kMostDriftDeg = 5;
constexpr std::int64_t kUsualSamples = 1 << 20;
constexpr double kUsualSeconds = 10;                          // at most, without --seconds
constexpr std::int64_t kMostSamples = std::int64_t{1} << 27;  // of all channels: 1 GiB

struct CalibrateOptions {
  std::string file;
  std::string source;
  std::string pipeline;
  std::string out;
  double seconds = 0;
  std::int64_t reference = -1;
  double coherence = 0.9;
  std::string tolerance = "1 kHz";
  bool overwrite = false;
  bool json = false;
};

std::unique_ptr<Loaded> load_source(const CalibrateOptions& o) {
  if (o.file.empty() == o.source.empty())
    throw UsageError("calibrate: give a pipeline file, or --source 'soapy: {args: …, channels: [0, 1], rate: …}'");
  if (!o.file.empty()) {
    auto loaded = load(o.file);
    // Problems of the calibration table do not matter, since it is about to be replaced.
    Problems& problems = loaded->problems;
    const auto is_other = [&](const Problem& p) { return p.place.file != o.file; };
    const auto kept = std::remove_if(problems.begin(), problems.end(), is_other) - problems.begin();
    problems.resize(static_cast<std::size_t>(kept));
    return loaded;
  }
  auto loaded = std::make_unique<Loaded>();
  loaded->read(parse_document("source: {" + o.source + "}", "--source", loaded->problems));
  for (Problem& p : loaded->problems) p.place.line = p.place.column = 0;
  return loaded;
}

std::int64_t samples_of(const CalibrateOptions& o, const StreamInfo& stream) {
  const double rate = stream.rate_hz;
  const double usual = std::min<double>(kUsualSamples, rate > 0 ? kUsualSeconds * rate : kUsualSamples);
  const double wanted = o.seconds > 0 ? o.seconds * rate : std::max<double>(usual, kMatchLeast);
  if (wanted < kMatchLeast)
    throw UsageError(fmt::format("calibrate: --seconds {} is too short at this rate: {:.3g} needed for {} samples",
                                 o.seconds, kMatchLeast / rate, kMatchLeast));
  if (wanted * std::max(stream.channels, 1) > kMostSamples)
    throw UsageError(fmt::format("calibrate: --seconds {} is too long: all channels together may have {} samples",
                                 o.seconds, kMostSamples));
  return static_cast<std::int64_t>(wanted);
}

/// Why a channel's result is not trusted; empty if it is.
std::string doubt(const ChannelMatch& m, double clipped, double least_coherence) {
  if (clipped > LevelMeter::kOverloadShare)
    return fmt::format("{:.2g} % of its samples are clipped: lower the gain", 100 * clipped);
  if (!(m.coherence >= least_coherence))  // also true for NaN
    return fmt::format(
        "its coherence with the reference is {:.3f}, below {:.3f}: feed the same signal to all channels, "
        "well above their noise, within the band but off its centre; oscillators need a common reference",
        m.coherence, least_coherence);
  if (m.drift_deg > kMostDriftDeg)
    return fmt::format(
        "its phase drifts by {:.1f} degrees during the measurement: the channels' oscillators need a common "
        "reference",
        m.drift_deg);
  return {};
}

struct Measured {
  CalibrationTable table;
  bool has_delays = true;
};

void add_channel(Measured& to, const ChannelMatch& m, double rate_hz) {
  CalibrationTable& t = to.table;
  t.gains_db.push_back(m.gain_db);
  t.phases_deg.push_back(m.phase_deg);
  t.delays_s.push_back(m.delay / rate_hz);
  t.gain_errors_db.push_back(m.gain_error_db);
  t.phase_errors_deg.push_back(m.phase_error_deg);
  t.delay_errors_s.push_back(m.delay_error / rate_hz);
  t.coherence.push_back(m.coherence);
  to.has_delays = to.has_delays && m.has_delay;
}

Measured compare(const Capture& taken, const RadioRequest& setting, std::size_t reference, double least_coherence) {
  Measured measured;
  std::string doubts;
  for (std::size_t c = 0; c < taken.channels.size(); ++c) {
    ChannelMatch m;
    m.coherence = 1;
    m.has_delay = true;
    if (c != reference) m = match_channel(taken.channels[reference], taken.channels[c]);
    if (const std::string why = doubt(m, taken.clipped[c], least_coherence); !why.empty())
      doubts += fmt::format("{}channel {}: {}", doubts.empty() ? "" : "\n", setting.channels[c], why);
    add_channel(measured, m, taken.info.rate_hz);
  }
  if (!doubts.empty()) throw SetupError("not calibrated:\n" + doubts);
  if (!measured.has_delays) measured.table.delays_s.clear(), measured.table.delay_errors_s.clear();
  return measured;
}

void add_setting(CalibrationTable& table, const RadioRequest& setting, std::size_t reference, double tolerance_hz) {
  table.date = radio::format_iso_time(wall_ns()).substr(0, 19) + "Z";
  table.radio = setting.args;
  table.rate_hz = setting.rate_hz;
  table.frequency_hz = setting.frequency_hz;
  table.tolerance_hz = tolerance_hz;
  table.gain_db = setting.gain_db;
  table.gain_elements = setting.gains;
  table.antenna = setting.antenna;
  table.bandwidth_hz = setting.bandwidth_hz;
  table.reference = setting.channels[reference];
  table.channels = setting.channels;
}

void print(const CalibrationTable& t) {
  fmt::print("{:<9} {:>20} {:>20} {:>24} {:>10}\n", "channel", "gain, dB", "phase, degrees", "delay, ns", "coherence");
  for (std::size_t c = 0; c < t.channels.size(); ++c) {
    const auto with_error = [](double v, double error, int digits) {
      return fmt::format("{:.{}f} ± {:.2g}", v, digits, error);
    };
    const bool reference = t.channels[c] == t.reference;
    fmt::print("{:<9} {:>20} {:>20} {:>24} {:>10.5f}\n", t.channels[c],
               reference ? "reference" : with_error(t.gains_db[c], t.gain_errors_db[c], 4),
               reference ? "" : with_error(t.phases_deg[c], t.phase_errors_deg[c], 3),
               reference            ? ""
               : t.delays_s.empty() ? "unknown"
                                    : with_error(t.delays_s[c] * 1e9, t.delay_errors_s[c] * 1e9, 3),
               t.coherence[c]);
  }
}

nlohmann::ordered_json to_json(const CalibrationTable& t) {
  nlohmann::ordered_json channels = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < t.channels.size(); ++c) {
    channels.push_back({{"channel", t.channels[c]},
                        {"gain_db", t.gains_db[c]},
                        {"gain_error_db", t.gain_errors_db[c]},
                        {"phase_deg", t.phases_deg[c]},
                        {"phase_error_deg", t.phase_errors_deg[c]},
                        {"delay_s", nullptr},
                        {"delay_error_s", nullptr},
                        {"coherence", t.coherence[c]}});
    if (t.delays_s.empty()) continue;
    channels.back()["delay_s"] = t.delays_s[c];
    channels.back()["delay_error_s"] = t.delay_errors_s[c];
  }
  return {{"date", t.date},           {"radio", t.radio},    {"rate", t.rate_hz}, {"frequency", t.frequency_hz},
          {"reference", t.reference}, {"channels", channels}};
}

/// Replaces the file atomically, since a pipeline may read it at any time.
void write(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream file(beside, std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(beside, path, error);
  if (!file || error)
    throw SetupError(fmt::format("{}: cannot be written: {}", path,
                                 error ? error.message() : "is the disk full, or the folder missing?"));
}

std::size_t reference_of(const CalibrateOptions& o, const RadioRequest& setting) {
  if (setting.channels.size() < 2)
    throw UsageError("calibrate: the source has only one channel; at least two are needed, such as `channels: [0, 1]`");
  if (o.reference < 0) return 0;
  const auto at = std::ranges::find(setting.channels, o.reference);
  if (at == setting.channels.end())
    throw UsageError(fmt::format("calibrate: --reference {}: the source has no such channel", o.reference));
  return static_cast<std::size_t>(at - setting.channels.begin());
}

Exit calibrate(const CalibrateOptions& o) {
  std::string why;
  const auto tolerance = parse_quantity(o.tolerance, Unit::hertz, why);
  if (!tolerance || !(*tolerance >= 0))
    throw UsageError("calibrate: --tolerance: " + (why.empty() ? "0 Hz or more" : why));
  if (!o.out.empty() && !o.overwrite && std::filesystem::exists(o.out))
    throw UsageError(fmt::format("calibrate: {} already exists; use --overwrite, or choose another path", o.out));
  const auto loaded = load_source(o);
  if (report(loaded->problems)) return Exit::configuration;
  const PipelineSpec& pipeline = choose_pipeline("calibrate", loaded->spec, o.pipeline);
  const StreamInfo asked = pipeline.source->describe(*pipeline.source_section);
  if (setting_of(*pipeline.source, asked).agc)
    pipeline.source_section->problem("agc", "a table is valid for one gain: set `gain` or `gains` for the measurement");
  if (report(loaded->problems)) return Exit::configuration;
  const std::size_t reference = reference_of(o, setting_of(*pipeline.source, asked));
  const Capture taken = capture(*pipeline.source, samples_of(o, asked));
  if (std::ssize(taken.channels.front()) < kMatchLeast)
    throw SetupError(
        fmt::format("the source ended after {} samples; {} are needed", taken.channels.front().size(), kMatchLeast));
  const RadioRequest setting = setting_of(*pipeline.source, taken.info);
  Measured measured = compare(taken, setting, reference, o.coherence);
  add_setting(measured.table, setting, reference, *tolerance);
  if (!o.out.empty()) write(o.out, measured.table.yaml());
  if (o.json)
    fmt::print("{}\n", to_json(measured.table).dump(2));
  else
    print(measured.table);
  if (!measured.has_delays)
    fmt::print(stderr,
               "iqd: the signal is too narrow to measure delays, so they are left out, and phases are valid at its "
               "frequency only; noise, or another signal as wide as the band, gives both\n");
  return Exit::ok;
}

}  // namespace

void add_calibrate(CommandLine& line) {
  auto o = std::make_shared<CalibrateOptions>();
  line.command("calibrate",
               "measure how a radio's channels differ, with the same signal on all, for a source's `calibration:`",
               [o] { return calibrate(*o); })
      .option("FILE", &o->file, "pipeline file with the source")
      .option("--source", &o->source,
              "or the source itself, e.g. \"soapy: {args: driver=iqdsim, channels: [0, 1], rate: 2 MS/s}\"")
      .option("--pipeline", &o->pipeline, "which one, if the file has several")
      .option("--out", &o->out, "the table to write")
      .option("--overwrite", &o->overwrite, "replace an existing table")
      .option("--seconds", &o->seconds, "seconds of signal to use (a million samples, 10 s at most)",
              {.range = {{0, 1e6}}})
      .option("--reference", &o->reference, "channel of the radio to compare all others with (its first)",
              {.range = {{0, 1023}}})
      .option("--coherence", &o->coherence, "minimum coherence with the reference, 0 to 1 (0.9)", {.range = {{0, 1}}})
      .option("--tolerance", &o->tolerance, "how far from its frequency the table is valid (\"1 kHz\")")
      .option("--json", &o->json, "print JSON");
}

}  // namespace iqd
