// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_file.hpp"
#include "config/fields.hpp"

namespace iqd {

struct Tree;   // document.cpp
struct Datum;  // document.cpp

/// A part of a YAML document: a cheap handle that keeps the whole document alive. Asking a node for what it is not
/// gives nothing (an empty text, no entries, a missing node), never an exception.
class Node {
 public:
  enum class Kind : std::uint8_t { missing, null, scalar, sequence, map };

  Node() = default;
  Kind kind() const noexcept;
  explicit operator bool() const noexcept { return kind() != Kind::missing; }
  /// `a list`, `a map`, `'text'`, `nothing`: for "expected …, found …".
  std::string found() const;

  /// A missing node stands where the map stands that it was looked for in.
  Place place() const;
  /// `stages[2].fir`; empty for the root.
  const std::string& path() const noexcept { return path_; }

  const std::string& scalar() const noexcept;
  Node operator[](std::string_view key) const;
  /// Of a map, in the order of the file.
  std::vector<std::pair<std::string, Node>> entries() const;
  /// Where a key of this map stands; line 0 where there is no such key.
  Place key_place(std::string_view key) const;
  /// Where the keys stand, in the order of `entries`.
  std::vector<Place> key_places() const;
  std::vector<Node> items() const;

 private:
  friend Node root_of(std::shared_ptr<const Tree> tree);
  friend Node with_entries(const Node& map, const Node& more);
  friend Node with_groups(const Node& map);
  Node(std::shared_ptr<const Tree> tree, const Datum* datum, int line, int column, std::string path);

  std::shared_ptr<const Tree> tree_;
  const Datum* datum_ = nullptr;
  int line_ = 0;
  int column_ = 0;
  std::string path_;
};

/// A map with the entries of `more` in place of its own of the same names (maps within them likewise), and behind them.
/// Those of `more` have no line in the file.
Node with_entries(const Node& map, const Node& more);

/// A map whose keys `group.key` stand in maps of their own: `{a.b: 1}` as `{a: {b: 1}}`.
Node with_groups(const Node& map);

struct Document {
  Node root;
  std::string file;
};

/// Reads a file of 4 MiB at most. What cannot be read, is no YAML, or is YAML that iqd refuses (keys given twice, keys
/// that are no words, several documents, tabs in the indentation; and what would cost more than a configuration is
/// worth, as aliases that multiply) becomes problems; what was understood is there.
Document load_document(const std::string& path, Problems& problems, Readable kind = Readable::stream);
Document parse_document(const std::string& text, const std::string& name, Problems& problems);

}  // namespace iqd
