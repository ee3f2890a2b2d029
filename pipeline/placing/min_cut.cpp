// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/min_cut.hpp"

#include <algorithm>
#include <cmath>

namespace iqd {
namespace {

/// Whole numbers, so that sums are exact.
constexpr double kUnits = 1e6;                                  // in a cost of 1
constexpr std::int64_t kMost = std::int64_t{1} << 44;           // a cost
constexpr std::int64_t kForbiddenFlow = std::int64_t{1} << 58;  // more than 4096 stages can cost together
constexpr int kUnreached = -1;

std::int64_t flow_of(double cost) {
  if (std::isinf(cost)) return kForbiddenFlow;
  return static_cast<std::int64_t>(std::llround(std::clamp(cost * kUnits, 0.0, static_cast<double>(kMost))));
}

}  // namespace

MinCut::Node MinCut::add_node() {
  edges_of_.emplace_back();
  return edges_of_.size() - 1;
}

void MinCut::add_edge(Node from, Node to, double cost) {
  if (from == to) return;
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, flow_of(cost)});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

/// The distance of each node from the first side, along edges that are not full.
bool MinCut::find_levels() {
  level_.assign(edges_of_.size(), kUnreached);
  std::vector<Node> reached{kFirst};
  level_[kFirst] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const std::size_t e : edges_of_[reached[i]]) {
      if (edges_[e].left == 0 || level_[edges_[e].to] != kUnreached) continue;
      level_[edges_[e].to] = level_[reached[i]] + 1;
      reached.push_back(edges_[e].to);
    }
  return level_[kSecond] != kUnreached;
}

std::int64_t MinCut::push(Node from, std::int64_t most) {
  if (from == kSecond) return most;
  for (std::size_t& i = next_[from]; i < edges_of_[from].size(); ++i) {
    Edge& edge = edges_[edges_of_[from][i]];
    if (edge.left == 0 || level_[edge.to] != level_[from] + 1) continue;
    const std::int64_t pushed = push(edge.to, std::min(most, edge.left));
    if (pushed == 0) continue;
    edge.left -= pushed;
    edges_[edges_of_[from][i] ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::first_side() {
  while (find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (push(kFirst, kForbiddenFlow) > 0) {
    }
  }
  std::vector<bool> first(edges_of_.size());
  for (Node n = 0; n < first.size(); ++n) first[n] = level_[n] != kUnreached;
  return first;
}

}  // namespace iqd
