// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/flow_text.hpp"

#include <nlohmann/json.hpp>

namespace iqd {
namespace {

std::string in_list(const Node& node) {
  if (node.kind() == Node::Kind::sequence) return flow_text(node);
  const std::string& text = node.scalar();
  const bool plain = !text.empty() && text.find_first_of(",[]\"\\\n\t") == text.npos && text.front() != ' ' &&
                     text.back() != ' ' && node.kind() == Node::Kind::scalar;
  return plain ? text : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::ordered_json as_json(const Node& node) {
  nlohmann::ordered_json json;
  if (node.kind() == Node::Kind::scalar) json = node.scalar();
  if (node.kind() == Node::Kind::map) json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : node.entries()) json[key] = as_json(value);
  if (node.kind() == Node::Kind::sequence) json = nlohmann::ordered_json::array();
  for (const Node& item : node.items()) json.push_back(as_json(item));
  return json;
}

}  // namespace

std::string flow_text(const Node& node) {
  if (node.kind() != Node::Kind::sequence) return node.scalar();
  std::string text;
  for (const Node& item : node.items()) text += (text.empty() ? "" : ", ") + in_list(item);
  return "[" + text + "]";
}

std::string json_text(const Node& node) {
  return as_json(node).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace iqd
