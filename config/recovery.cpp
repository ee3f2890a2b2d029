// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/recovery.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/text_check.hpp"
#include "config/tree.hpp"

namespace iqd {
namespace {

/// Each entry takes a pass over the text, so larger files are not worth it.
constexpr std::size_t kMostEntries = 64;
constexpr std::size_t kMostText = 256u << 10;

/// Offsets in the text.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Where a list `pipelines:` and its entries are, by their indentation alone.
struct PipelineList {
  Stretch head;  // the line of the key
  std::vector<Stretch> entries;
};

std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size() - 1) + 1;
}

bool is_head(std::string_view line) {
  constexpr std::string_view kKey = "pipelines:";
  if (!line.starts_with(kKey)) return false;
  const std::size_t rest = line.find_first_not_of(" \r\n", kKey.size());
  return rest == line.npos || line[rest] == '#';
}

bool begins_entry(std::string_view content) {
  return content.front() == '-' && (content.size() == 1 || content.find_first_of(" \r\n") == 1);
}

PipelineList find_list(std::string_view text) {
  PipelineList list;
  std::size_t indent = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = line_end(text, at);
    const std::string_view line = text.substr(at, end - at);
    const std::size_t word = line.find_first_not_of(" \t\r\n");
    if (list.head.end == 0) {
      if (is_head(line)) list.head = {at, end};
      continue;
    }
    if (word == line.npos || line[word] == '#') continue;
    const bool has_tab = line.substr(0, word).find('\t') != line.npos;  // an error, but no end of the entry
    const bool begins = !has_tab && begins_entry(line.substr(word));
    if (list.entries.empty()) indent = word;
    if (has_tab && !list.entries.empty()) {
      list.entries.back().end = end;
      continue;
    }
    if (word < indent || (word == indent && !begins)) break;
    if (word == indent) list.entries.push_back({at, end});
    list.entries.back().end = end;
  }
  return list;
}

/// Leaves the dash of an entry, which then has no value.
void blank(std::string& text, Stretch entry) {
  for (std::size_t i = text.find('-', entry.begin) + 1; i < entry.end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

bool is_valid(const std::string& text, const std::string& name, Problems& problems) {
  Tree tree;
  tree.file = name;
  check_text(text, name, problems);
  if (problems.empty()) parse_into(tree, text, problems);
  return tree.root.datum != nullptr;
}

/// An alias whose anchor was left out with its entry.
bool is_consequence(const Problems& problems) {
  return problems.front().what.find("anchor is not defined") != std::string::npos;
}

}  // namespace

std::optional<std::string> without_damage(const std::string& text, const std::string& name, Problems& problems) {
  if (text.size() > kMostText) return std::nullopt;
  const PipelineList list = find_list(text);
  if (list.entries.empty() || list.entries.size() > kMostEntries) return std::nullopt;
  std::string whole = text;
  Problems before;
  if (!is_valid(whole.substr(0, list.head.end), name, before)) return std::nullopt;
  for (const Stretch& entry : list.entries) {
    Problems found;
    if (is_valid(whole.substr(0, entry.end), name, found)) continue;
    blank(whole, entry);
    if (problems.empty() || !is_consequence(found)) problems.push_back(found.front());
  }
  return problems.empty() ? std::nullopt : std::optional(whole);
}

}  // namespace iqd
