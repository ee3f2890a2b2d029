// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/document.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "base/printable.hpp"
#include "config/recovery.hpp"
#include "config/text_check.hpp"
#include "config/tree.hpp"

namespace iqd {

namespace {

constexpr std::size_t kMostBytes = 4u << 20;

}  // namespace

Node::Node(std::shared_ptr<const Tree> tree, const Datum* datum, int line, int column, std::string path)
    : tree_(std::move(tree)), datum_(datum), line_(line), column_(column), path_(std::move(path)) {}

Node root_of(std::shared_ptr<const Tree> tree) {
  const Link root = tree->root;
  return {std::move(tree), root.datum, root.line, root.column, ""};
}

Node::Kind Node::kind() const noexcept {
  return datum_ == nullptr ? Kind::missing : datum_->kind;
}

std::string Node::found() const {
  constexpr std::size_t kEnough = 40;
  switch (kind()) {
    case Kind::missing:
    case Kind::null: break;
    case Kind::sequence: return "a list";
    case Kind::map: return "a map";
    case Kind::scalar: {
      const std::string& s = datum_->text;
      return "'" + (s.size() > kEnough ? utf8_start(s, kEnough) + "…" : s) + "'";
    }
  }
  return "nothing";
}

Place Node::place() const {
  return {tree_ ? tree_->file : "", line_, column_};
}

const std::string& Node::scalar() const noexcept {
  static const std::string none;
  return kind() == Kind::scalar ? datum_->text : none;
}

Node Node::operator[](std::string_view key) const {
  std::string path = path_ + (path_.empty() ? "" : ".") + std::string(key);
  if (datum_ != nullptr)
    for (const Entry& e : datum_->entries)
      if (e.key == key) return {tree_, e.value.datum, e.value.line, e.value.column, std::move(path)};
  return {tree_, nullptr, line_, column_, std::move(path)};
}

std::vector<std::pair<std::string, Node>> Node::entries() const {
  std::vector<std::pair<std::string, Node>> list;
  if (datum_ == nullptr) return list;
  for (const Entry& e : datum_->entries)
    list.emplace_back(
        e.key, Node(tree_, e.value.datum, e.value.line, e.value.column, path_ + (path_.empty() ? "" : ".") + e.key));
  return list;
}

Place Node::key_place(std::string_view key) const {
  if (datum_ != nullptr)
    for (const Entry& e : datum_->entries)
      if (e.key == key) return {tree_->file, e.line, e.column};
  return {tree_ ? tree_->file : "", 0, 0};
}

std::vector<Place> Node::key_places() const {
  std::vector<Place> list;
  if (datum_ == nullptr) return list;
  for (const Entry& e : datum_->entries) list.push_back({tree_->file, e.line, e.column});
  return list;
}

std::vector<Node> Node::items() const {
  std::vector<Node> list;
  if (datum_ == nullptr) return list;
  for (std::size_t i = 0; i < datum_->items.size(); ++i) {
    const Link& link = datum_->items[i];
    list.push_back(Node(tree_, link.datum, link.line, link.column, path_ + "[" + std::to_string(i) + "]"));
  }
  return list;
}

namespace {

/// The entries of both, in the tree's memory. For a key in both, `more` wins; maps are merged recursively.
const Datum* merge(Tree& tree, const Datum* map, const Datum* more) {
  Datum merged;
  merged.kind = Node::Kind::map;
  if (map) merged.entries = map->entries;
  const std::span<const Entry> entries = more ? std::span<const Entry>(more->entries) : std::span<const Entry>();
  for (const Entry& added : entries) {
    const Datum* value = added.value.datum;
    const auto before = std::ranges::find(merged.entries, added.key, &Entry::key);
    if (before != merged.entries.end()) {
      const Datum* const old = before->value.datum;
      if (old && value && old->kind == Node::Kind::map && value->kind == Node::Kind::map)
        value = merge(tree, old, value);
      merged.entries.erase(before);
    }
    merged.entries.push_back({added.key, 0, 0, {value, 0, 0}});
  }
  return &tree.data.emplace_back(std::move(merged));
}

}  // namespace

Node with_entries(const Node& map, const Node& more) {
  auto tree = std::make_shared<Tree>();
  tree->file = map.tree_ ? map.tree_->file : "";
  tree->kept = {map.tree_, more.tree_};
  const Datum* const merged = merge(*tree, map.datum_, more.datum_);
  return {std::move(tree), merged, map.line_, map.column_, map.path_};
}

namespace {

/// Puts an entry into a map under construction, replacing one with the same key; maps are merged.
void put(Tree& tree, Datum& into, const std::string& key, const Datum* value) {
  const auto before = std::ranges::find(into.entries, key, &Entry::key);
  if (before != into.entries.end()) {
    const Datum* const old = before->value.datum;
    if (old && value && old->kind == Node::Kind::map && value->kind == Node::Kind::map) value = merge(tree, old, value);
    into.entries.erase(before);
  }
  into.entries.push_back({key, 0, 0, {value, 0, 0}});
}

}  // namespace

Node with_groups(const Node& map) {
  if (map.kind() != Node::Kind::map) return map;
  auto tree = std::make_shared<Tree>();
  tree->file = map.tree_->file;
  tree->kept = {map.tree_};
  const auto new_map = [&tree] {
    tree->data.emplace_back().kind = Node::Kind::map;
    return &tree->data.back();
  };
  Datum* const all = new_map();
  // Maps created here grow entry by entry: copying each time would take quadratic time.
  std::map<std::string, Datum*> groups;
  for (const Entry& entry : map.datum_->entries) {
    const std::size_t dot = entry.key.find('.');
    const std::string name = entry.key.substr(0, dot);
    Datum*& group = groups[name];
    const Datum* const value = entry.value.datum;
    if (dot == std::string::npos && (value == nullptr || value->kind != Node::Kind::map)) {
      group = nullptr;
      put(*tree, *all, name, value);
      continue;
    }
    if (group == nullptr) {
      group = new_map();
      std::erase_if(all->entries, [&](const Entry& e) { return e.key == name; });
      put(*tree, *all, name, group);
    }
    if (dot != std::string::npos)
      put(*tree, *group, entry.key.substr(dot + 1), value);
    else
      for (const Entry& e : value->entries) put(*tree, *group, e.key, e.value.datum);
  }
  return {std::move(tree), all, map.line_, map.column_, map.path_};
}

namespace {

/// What is left of a text that is not valid YAML, with all that is wrong in place of the first syntax error.
Document parse_rest(const std::string& text, const std::string& name, std::size_t before, Problems& problems) {
  Problems found;
  auto tree = std::make_shared<Tree>();
  tree->file = name;
  if (const auto rest = without_damage(text, name, found)) parse_into(*tree, *rest, found);
  if (tree->root.datum == nullptr) return {Node(), name};
  problems.resize(before);
  problems.insert(problems.end(), found.begin(), found.end());
  return {root_of(std::move(tree)), name, true};
}

}  // namespace

Document parse_document(const std::string& text, const std::string& name, Problems& problems) {
  auto tree = std::make_shared<Tree>();
  tree->file = name;
  const std::size_t before = problems.size();
  check_text(text, name, problems);
  if (problems.size() == before) parse_into(*tree, text, problems);
  if (problems.size() == before && (tree->root.datum == nullptr || tree->root.datum->kind == Node::Kind::null))
    problems.push_back({{name, 0, 0}, "", "is empty"});
  else if (tree->root.datum == nullptr)
    return parse_rest(text, name, before, problems);
  return {root_of(std::move(tree)), name};
}

Document load_document(const std::string& path, Problems& problems, Readable kind) {
  std::string why;
  if (const auto text = read_text(path, kMostBytes, why, kind)) return parse_document(*text, path, problems);
  problems.push_back({{path, 0, 0}, "", std::move(why)});
  return {Node(), path};
}

}  // namespace iqd
