// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/key_origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/values.hpp"
#include "pipeline/spec/pipeline_parts.hpp"

namespace iqd {
namespace {

/// The list in the file that has the part, as SpecChange names it.
std::string_view list_of_part(std::string_view part) {
  const std::size_t dot = part.find('.');
  if (dot != part.npos) return part.substr(0, dot);
  return part == "source" ? part : "stages";
}

/// Calls `visit` with each key below `keys`, those of groups as `group.key`.
template <class Visit> void each_key(const Node& keys, const std::string& prefix, Visit visit) {
  for (const auto& [key, value] : keys.entries()) {
    const std::string name = fmt::format("{}.{}", prefix, key);
    if (value.kind() == Node::Kind::map)
      each_key(value, name, visit);
    else
      visit(name);
  }
}

/// A text that is not given is none.
std::string shown(const KeyCopy& key) {
  std::string text = value_text(key.value, key.info.unit);
  return text.empty() ? "none" : text;
}

}  // namespace

std::string_view name_of(SetBy by) {
  static constexpr std::array<std::string_view, 3> kNames{"file", "patch", "apply"};
  return kNames.at(static_cast<std::size_t>(by));
}

void KeyOrigins::start(const std::string& pipeline, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  pipelines_[pipeline] = {{"", {SetBy::file, now_ns}}};
}

void KeyOrigins::set(const Override& keys, SetBy by, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  each_key(keys.keys, keys.stage, [&, &all = pipelines_[keys.pipeline]](const std::string& key) {
    all[key] = {by, now_ns};
  });
}

void KeyOrigins::reload(const std::string& pipeline, std::span<const std::string> changed, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Keys& keys = pipelines_[pipeline];
  const KeyOrigin now{SetBy::file, now_ns};
  for (auto& [key, origin] : keys)
    if (origin.by != SetBy::file) origin = now;
  for (const std::string& key : changed) keys[key] = now;
}

KeyOrigin KeyOrigins::of(std::string_view pipeline, std::string_view part, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  KeyOrigin latest;
  const auto at = pipelines_.find(pipeline);
  if (at == pipelines_.end()) return latest;
  const auto consider = [&](const KeyOrigin& origin) {
    if (origin.since_ns >= latest.since_ns) latest = origin;
  };
  const Keys& keys = at->second;
  for (const std::string_view whole : {std::string_view(), list_of_part(part), part})
    if (const auto found = keys.find(whole); found != keys.end()) consider(found->second);
  const std::string name = fmt::format("{}.{}", part, key);
  for (auto k = keys.lower_bound(name); k != keys.end() && k->first.starts_with(name); ++k)
    if (k->first.size() == name.size() || k->first[name.size()] == '.') consider(k->second);
  return latest;
}

std::vector<std::string> undone_by(const PipelineSpec& next, const PipelineSpec& running, const Catalogue& catalogue,
                                   const KeyOrigins& origins) {
  std::vector<std::string> lines;
  const std::vector<PipelinePart> after = parts_of(next, catalogue);
  for (const PipelinePart& part : parts_of(running, catalogue)) {
    const auto same = [&](const PipelinePart& p) { return p.name == part.name && p.type == part.type; };
    const auto then = std::ranges::find_if(after, same);
    if (then == after.end()) continue;
    const std::vector<KeyCopy> now = values_of(part.set), read = values_of(then->set);
    for (std::size_t i = 0; i < std::min(now.size(), read.size()); ++i) {
      const SetBy by = origins.of(running.name, part.name, now[i].key).by;
      if (now[i].is_group || by == SetBy::file || now[i].value == read[i].value) continue;
      lines.push_back(fmt::format("{}: {}.{}: {} (file) replaces {} ({})", running.name, part.name, now[i].key,
                                  shown(read[i]), shown(now[i]), name_of(by)));
    }
  }
  return lines;
}

}  // namespace iqd
