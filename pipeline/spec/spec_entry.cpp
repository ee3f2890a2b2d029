// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_entry.hpp"

#include <fmt/format.h>

namespace iqd {

std::optional<std::pair<std::string, Node>> only_entry(const Node& node, std::string_view what, Problems& problems) {
  const auto entries = node.entries();
  if (entries.size() == 1) return entries.front();
  problems.push_back({node.place(), node.path(),
                      fmt::format("expected one key, the name of {}, found {}", what,
                                  entries.empty() ? node.found() : fmt::format("{} keys", entries.size()))});
  return std::nullopt;
}

Section read_keys(const Node& node, const Node& parent, std::string_view key,
                  const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                  std::span<const std::string_view> reserved) {
  if (node.kind() != Node::Kind::null) return read_fields(node, fields, problems, reserved);
  Section section = read_fields(parent["~"], fields, problems, reserved);
  return Section(node.path(), parent.key_place(key), problems);
}

Node overridden(Node keys, std::string_view pipeline, std::string_view stage, std::span<const Override> overrides) {
  for (const Override& o : overrides)
    if ((o.pipeline.empty() || o.pipeline == pipeline) && o.stage == stage) keys = with_entries(keys, o.keys);
  return keys;
}

}  // namespace iqd
