// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace iqd {

/// Divides the nodes of a graph into two sides so that the edges from the first side to the second cost least. Exact:
/// the cheapest cut is a largest flow (Dinic's algorithm).
class MinCut {
 public:
  using Node = std::size_t;
  static constexpr Node kFirst = 0;   // always on the first side
  static constexpr Node kSecond = 1;  // always on the second side
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  MinCut() : edges_of_(2) {}
  Node add_node();
  /// Costs so much if `from` is on the first side and `to` on the second.
  void add_edge(Node from, Node to, double cost);
  /// Which nodes are on the first side. Of equally cheap divisions, the one with fewest there.
  std::vector<bool> first_side();

 private:
  struct Edge {
    Node to;
    std::int64_t left;  // what may still flow
  };
  bool find_levels();
  std::int64_t push(Node from, std::int64_t most);

  std::vector<Edge> edges_;  // an edge and its reverse follow each other
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;  // of each node's edges: the first that may still be of use
};

}  // namespace iqd
