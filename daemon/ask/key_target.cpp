// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/key_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "config/document.hpp"

namespace iqd {
namespace {

using nlohmann::json;

/// Where the name of the stage ends. Entries of lists have a number in their name.
std::size_t end_of_stage(std::string_view text) {
  const std::size_t dot = text.find('.');
  for (const std::string_view list : {"publish.", "sinks.", "apply."}) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", list.size()), text.size());
    if (text.starts_with(list) && end > list.size() && (end == text.size() || text[end] == '.')) return end;
  }
  return std::min(dot, text.size());
}

json json_of_node(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::scalar: return node.scalar();
    case Node::Kind::sequence: {
      json list = json::array();
      for (const Node& item : node.items()) list.push_back(json_of_node(item));
      return list;
    }
    case Node::Kind::map: {
      json map = json::object();
      for (const auto& [key, value] : node.entries()) map[key] = json_of_node(value);
      return map;
    }
    default: return {};
  }
}

}  // namespace

KeyTarget parse_key_target(std::string_view text, const std::string& default_pipeline) {
  KeyTarget target{default_pipeline, {}, {}};
  std::string_view rest = text;
  if (const std::size_t slash = rest.rfind('/'); slash != rest.npos) {
    target.pipeline = rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
  }
  const std::size_t end = end_of_stage(rest);
  target.stage = rest.substr(0, end);
  if (end < rest.size()) target.key = rest.substr(end + 1);
  if (target.stage.empty() || (end < rest.size() && target.key.empty()))
    throw UsageError(fmt::format("'{}' names no stage and key; use STAGE.KEY, such as source.gain", text));
  return target;
}

json parse_key_value(const std::string& text) {
  Problems problems;
  const Node node = parse_document(text, "value", problems).root;
  const bool is_yaml = problems.empty() && node.kind() != Node::Kind::missing;
  return is_yaml && !text.empty() ? json_of_node(node) : json(text);
}

void require_key(const json& keys, const std::string& stage, const std::string& key) {
  std::vector<std::string_view> names;
  for (const auto& [name, one] : keys.items()) {
    const bool is_map = one.contains("value") && one["value"].is_object();
    if (name == key || name.starts_with(key + ".") || (is_map && key.starts_with(name + "."))) return;
    names.emplace_back(name);
  }
  throw SetupError(fmt::format("{} has no key '{}'{}; it has: {}", stage, key, did_you_mean(key, names),
                               names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace iqd
