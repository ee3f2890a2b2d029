// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/record/join.hpp"
#include "pipeline/spec/spec_drivers.hpp"
#include "radio/window/window_set.hpp"

namespace iqd {
namespace {

/// The sink that one run would have, in the folder of its windows; null after a problem, which was reported.
std::unique_ptr<Sink> open_sink(const radio::WindowSet& set, const JoinOptions& o) {
  const radio::Manifest& manifest = set.windows().begin()->second;
  auto entry = nlohmann::ordered_json::parse(manifest.entry);
  for (auto& [key, value] : entry.items()) {
    if (key == "port" || !value.is_object()) continue;
    value["path"] = (std::filesystem::path(o.folder) / set.name()).string();
    if (o.overwrite) value["overwrite"] = "true";
  }
  Problems problems;
  const Document document = parse_document(entry.dump(), set.name(), problems);
  PipelineSpec spec(Section("", document.root.place(), problems));
  read_sink(document.root, spec, catalogue(), problems);
  if (problems.empty()) {
    const SinkSpec& sink = spec.sinks.front();
    if (sink.options->path().empty()) sink.section.problem("", "writes no file");
    sink.options->check(manifest.format, sink.section);
  }
  return report(problems) ? nullptr : spec.sinks.front().options->open(manifest.format);
}

bool join_set(const radio::WindowSet& set, const JoinOptions& o) {
  const std::vector<std::string> faults = set.faults();
  for (const std::string& fault : faults) fmt::print(stderr, "iqd: join: {}\n", fault);
  if (!faults.empty()) return false;
  const std::unique_ptr<Sink> sink = open_sink(set, o);
  if (!sink) return false;
  set.join(*sink);
  for (const std::string& remark : set.remarks()) fmt::print(stderr, "iqd: join: {}\n", remark);
  fmt::print(stderr, "{}: {} windows\n", (std::filesystem::path(o.folder) / set.name()).string(), o.windows);
  return true;
}

std::vector<radio::WindowSet> sets_in(const JoinOptions& o) {
  std::vector<std::string> unreadable;
  std::vector<radio::WindowSet> sets = radio::WindowSet::in(o.folder, o.windows, unreadable);
  for (const std::string& why : unreadable) fmt::print(stderr, "iqd: join: {}\n", why);
  return sets;
}

std::vector<std::int64_t> missing_in(const std::vector<radio::WindowSet>& sets, const JoinOptions& o) {
  std::set<std::int64_t> missing;
  for (const radio::WindowSet& set : sets)
    for (const std::int64_t window : set.missing(o.lossy)) missing.insert(window);
  for (std::int64_t w = 0; sets.empty() && w < o.windows; ++w) missing.insert(w);
  return {missing.begin(), missing.end()};
}

Exit join(const JoinOptions& o) {
  if (o.windows < 1 || o.windows > radio::kMostWindows)
    throw UsageError(fmt::format("join: --windows: how many there are, 1 to {}", radio::kMostWindows));
  if (!o.missing) return join_windows(o);
  const std::vector<std::int64_t> missing = missing_windows(o);
  if (!missing.empty()) fmt::print("{}\n", fmt::join(missing, ","));
  return missing.empty() ? Exit::ok : Exit::failed;
}

}  // namespace

std::vector<std::int64_t> missing_windows(const JoinOptions& options) {
  return missing_in(sets_in(options), options);
}

Exit join_windows(const JoinOptions& options) {
  const std::vector<radio::WindowSet> sets = sets_in(options);
  if (const std::vector<std::int64_t> missing = missing_in(sets, options); !missing.empty())
    throw SetupError(fmt::format("join: {}: these windows are missing or lost samples: {}; run them again",
                                 options.folder, fmt::join(missing, ",")));
  bool good = true;
  for (const radio::WindowSet& set : sets) good = join_set(set, options) && good;
  return good ? Exit::ok : Exit::failed;
}

void add_join(CommandLine& line) {
  auto o = std::make_shared<JoinOptions>();
  line.command("join", "join the results of all windows of a recording (`iqd run --window`)", [o] { return join(*o); })
      .option("DIR", &o->folder, "folder with the windows; the whole goes there, too", {.required = true})
      .option("--windows", &o->windows, "how many windows there are", {.required = true})
      .option("--missing", &o->missing, "only print the windows that have to run again, as `1,5`; exit code 1 if any")
      .option("--lossy", &o->lossy,
              "accept windows that lost samples, such as those of a function that always fails at one block")
      .option("--overwrite", &o->overwrite, "replace an existing recording");
}

}  // namespace iqd
