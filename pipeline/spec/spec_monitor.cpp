// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "config/reader.hpp"

namespace iqd {
namespace {

PipelineSpec* pipeline_named(Spec& spec, std::string_view name) {
  const auto at = std::ranges::find(spec.pipelines, name, &PipelineSpec::name);
  return at == spec.pipelines.end() ? nullptr : &*at;
}

std::string pipeline_names(const Spec& spec) {
  std::vector<std::string_view> names;
  for (const PipelineSpec& p : spec.pipelines) names.push_back(p.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void watch_port(Spec& spec, const std::string& entry) {
  const std::size_t slash = entry.rfind('/');
  const bool is_bare = slash == entry.npos;
  if (is_bare && spec.pipelines.size() != 1) {
    spec.monitor->problem("watch", fmt::format("'{}': there are several pipelines: write PIPELINE/{}; there are: {}",
                                               entry, entry, pipeline_names(spec)));
    return;
  }
  PipelineSpec* const in =
      is_bare ? &spec.pipelines.front() : pipeline_named(spec, std::string_view(entry).substr(0, slash));
  if (in)
    in->watch.push_back(is_bare ? entry : entry.substr(slash + 1));
  else if (spec.is_whole)
    spec.monitor->problem("watch",
                          fmt::format("'{}': there is no such pipeline; there are: {}", entry, pipeline_names(spec)));
}

}  // namespace

void read_monitor(const Node& node, Spec& spec, Problems& problems) {
  if (!node) return;
  spec.monitor = read_fields(
      node, [&](FieldVisitor& v) { monitor_fields(spec, v); }, problems);
  if (!spec.has_page()) return;
  for (const std::string& entry : spec.watch) watch_port(spec, entry);
  for (PipelineSpec& pipeline : spec.pipelines) {
    pipeline.watched = spec.has_page();
    if (!pipeline.watch.empty()) pipeline.watch_section = spec.monitor;
  }
}

bool same_port(const Spec& one, const Spec& other) {
  const auto keys = [](const Spec& s) {
    return std::tie(s.listen, s.token_file, s.page, s.recordings, s.peers, s.grafana);
  };
  return keys(one) == keys(other);
}

void keep_port(const Spec& running, Spec& next) {
  next.listen = running.listen;
  next.token_file = running.token_file;
  next.page = running.page;
  next.recordings = running.recordings;
  next.peers = running.peers;
  next.grafana = running.grafana;
}

}  // namespace iqd
