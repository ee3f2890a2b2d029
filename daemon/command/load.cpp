// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files/sha256.hpp"
#include "base/host_limits.hpp"
#include "base/log.hpp"
#include "base/pool.hpp"
#include "config/flow_text.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/http/http_access.hpp"
#include "hosts/pool_options.hpp"
#include "publish/publish_options.hpp"
#include "radio/drivers.hpp"

namespace iqd {

const Catalogue& catalogue() {
  static const Catalogue all{all_stages(), all_drivers(), publish::make_options, hosts::make_pool_options};
  return all;
}

bool report(const Problems& problems) {
  if (problems.empty()) return false;
  for (const Problem& p : problems) std::fprintf(stderr, "%s\n", p.text().c_str());
  report_warnings(problems);
  return true;
}

bool report_warnings(const Problems& problems) {
  for (const Problem& p : problems.warnings()) std::fprintf(stderr, "%s\n", p.text().c_str());
  return !problems.warnings().empty();
}

void log_warnings(const Problems& problems) {
  for (const Problem& p : problems.warnings()) log::warn("{}", p.text());
}

/// Of what all windows of a recording have in common: the file without the keys that name one.
static std::string hash_of(const Document& document) {
  auto json = nlohmann::ordered_json::parse(json_text(document.root));
  const auto strip = [](nlohmann::ordered_json& pipeline) {
    if (!pipeline.is_object() || !pipeline.contains("source") || !pipeline["source"].is_object()) return;
    for (auto& [driver, keys] : pipeline["source"].items())
      if (keys.is_object()) keys.erase("window");
  };
  strip(json);
  if (json.contains("pipelines"))
    for (auto& pipeline : json["pipelines"]) strip(pipeline);
  Sha256 hash;
  hash.add(json.dump());
  return hash.hex();
}

void Loaded::read(Document from, std::span<const Override> overrides) {
  document = std::move(from);
  spec = read_spec(document, catalogue(), problems, overrides, added);
  if (spec.work) work = read_work(spec.work, problems);
  for (const PipelineSpec& p : spec.pipelines) {
    const auto window = p.source ? p.source->window() : nullptr;
    if (!window) continue;
    window->pipeline = hash_of(document);
  }
}

std::unique_ptr<Loaded> load(const std::string& file, std::vector<AddedSink> added,
                             std::span<const Override> overrides) {
  auto loaded = std::make_unique<Loaded>();
  loaded->added = std::move(added);
  const std::size_t before = heap_bytes();
  loaded->read(load_document(file, loaded->problems), overrides);
  check_monitor(loaded->spec);
  // It is kept for later changes. It cannot be attributed to pipelines, so each gets an equal share.
  const std::size_t taken = heap_growth(before);
  std::vector<PipelineSpec>& pipelines = loaded->spec.pipelines;
  for (PipelineSpec& p : pipelines) p.file_bytes = taken / pipelines.size();
  return loaded;
}

PipelineSpec& choose_pipeline(std::string_view command, Spec& spec, const std::string& name) {
  std::string names;
  for (PipelineSpec& p : spec.pipelines) {
    if (p.name == name || (name.empty() && spec.pipelines.size() == 1)) return p;
    names += (names.empty() ? "" : ", ") + p.name;
  }
  throw UsageError(name.empty() ? fmt::format("{}: choose a --pipeline: {}", command, names)
                                : fmt::format("{}: there is no pipeline '{}'; available: {}", command, name, names));
}

}  // namespace iqd
