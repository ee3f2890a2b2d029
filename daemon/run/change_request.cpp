// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/change_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace iqd {
namespace {

/// Adds what is wrong with the keys to `problems`.
Node read_keys(const std::string& keys, Problems& problems) {
  const Node root = with_groups(parse_document(keys, "request", problems).root);
  if (problems.empty() && root.kind() != Node::Kind::map)
    problems.push_back({{"request", 1, 1}, "", "expected a map of keys, found " + root.found()});
  return root;
}

}  // namespace

ChangeReport refused(const Problems& problems) {
  ChangeReport report{ChangeReport::Result::refused, {}};
  for (const Problem& p : problems) report.lines.push_back(p.text());
  return report;
}

ChangeReport refused_request(const Problems& problems) {
  ChangeReport report{ChangeReport::Result::refused, {}};
  for (Problem p : problems) {
    if (p.place.line == 0) p.place.file.clear();
    report.lines.push_back(p.text());
  }
  return report;
}

std::optional<ChangeReport> read_request(const ChangeRequest& request, const Document& document, PipelineSpec& running,
                                         std::vector<Override>& overrides, Loaded& next) {
  const Node keys = read_keys(request.keys, next.problems);
  for (const char* reserved : {"name", "from", "backend"})
    if (keys[reserved])
      return ChangeReport{ChangeReport::Result::refused, {fmt::format("{} cannot be set live", reserved)}};
  if (!next.problems.empty()) return refused_request(next.problems);
  add_override(overrides, {running.name, request.stage, keys});
  next.read(document, overrides);
  if (!next.problems.empty()) return refused_request(next.problems);
  std::erase_if(next.spec.pipelines, [&](const PipelineSpec& p) { return p.name != running.name; });
  for (PipelineSpec& spec : next.spec.pipelines) {
    keep_programs(running, spec);
    spec.file_bytes = running.file_bytes;
    // Keys of a source that are not live restart the pipeline instead.
    if (const SpecChange change = compare(running, spec); !change.not_live.empty() && request.stage != "source")
      return ChangeReport{
          ChangeReport::Result::refused,
          {fmt::format("{} cannot be set live: change it in the file and reload", fmt::join(change.not_live, ", "))}};
  }
  return std::nullopt;
}

}  // namespace iqd
