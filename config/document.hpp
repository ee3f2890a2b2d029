// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/text_file.hpp"
#include "config/fields.hpp"

namespace iqd {

struct Tree;   // document.cpp
struct Datum;  // document.cpp

/// A part of a YAML document: a cheap handle that keeps the whole document alive. A query that does not fit the node's
/// kind gives an empty text, no entries or a missing node, never an exception.
class Node {
 public:
  enum class Kind : std::uint8_t { missing, null, scalar, sequence, map };

  Node() = default;
  Kind kind() const noexcept;
  explicit operator bool() const noexcept { return kind() != Kind::missing; }
  /// `a list`, `a map`, `'text'`, `nothing`: for "expected …, found …".
  std::string found() const;

  /// A missing node has the place of the map that it was looked up in.
  Place place() const;
  /// `stages[2].fir`; empty for the root.
  const std::string& path() const noexcept { return path_; }

  const std::string& scalar() const noexcept;
  Node operator[](std::string_view key) const;
  /// The entries of a map, in the order of the file.
  std::vector<std::pair<std::string, Node>> entries() const;
  /// The place of a key of this map; line 0 if there is no such key.
  Place key_place(std::string_view key) const;
  /// The places of the keys, in the order of `entries`.
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

/// A map with the entries of `more` added, replacing its own of the same names (nested maps likewise). Those of `more`
/// have no line in the file.
Node with_entries(const Node& map, const Node& more);

/// A map with keys `group.key` turned into nested maps: `{a.b: 1}` becomes `{a: {b: 1}}`.
Node with_groups(const Node& map);

struct Document {
  Node root;
  std::string file;
  bool is_damaged = false;  // a syntax error has cost entries of the list `pipelines`, which have no value
};

/// Reads a file of at most 4 MiB. Adds problems if it cannot be read, is not YAML, or is YAML that iqd refuses
/// (duplicate keys, keys that are not words, several documents, tabs in the indentation, and anything excessive such as
/// multiplying aliases). The document has what was understood: after a syntax error in an entry of a list `pipelines`,
/// the other entries.
Document load_document(const std::string& path, Problems& problems, Readable kind = Readable::stream);
Document parse_document(const std::string& text, const std::string& name, Problems& problems);

}  // namespace iqd
