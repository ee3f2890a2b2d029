// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"

namespace iqd {

/// A value and its place; an alias and its anchor share a datum, but each has its own place.
struct Link {
  const Datum* datum = nullptr;
  int line = 0;
  int column = 0;
};

struct Entry {
  std::string key;
  int line = 0;
  int column = 0;
  Link value;
};

struct Datum {
  Node::Kind kind = Node::Kind::null;
  std::string text;
  std::vector<Entry> entries;
  std::vector<Link> items;
  std::int64_t weight = 1;  // nodes of the subtree, aliases counted as often as they appear
  std::size_t height = 1;
  bool open = true;  // its end has not been read yet
};

struct Tree {
  std::string file;
  std::vector<std::shared_ptr<const Tree>> kept;  // other trees that links point into
  std::deque<Datum> data;
  Link root;
};

/// Parses `text` into `tree`, whose `file` is already set. After a problem that stops the parser, the tree has no root.
void parse_into(Tree& tree, const std::string& text, Problems& problems);

}  // namespace iqd
