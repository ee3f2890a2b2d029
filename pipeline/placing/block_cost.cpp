// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/block_cost.hpp"

#include <algorithm>

#include "pipeline/placing/min_cut.hpp"

namespace iqd {
namespace {

/// The graph whose cheapest cut is the quickest division: the first side is the host.
class CostGraph {
 public:
  explicit CostGraph(const BlockCost& block) : block_(block) {
    for (const BlockCost::Part& part : block.parts) add_part(part);
    for (const BlockCost::Data& data : block.data) add_data(data);
    add_launches();
    add_host();
  }
  Sides sides() {
    const std::vector<bool> first = cut_.first_side();
    Sides sides;
    for (const MinCut::Node node : nodes_) sides.push_back(first[node] ? Side::host : Side::device);
    return sides;
  }

 private:
  void add_part(const BlockCost::Part& part) {
    const MinCut::Node node = cut_.add_node();
    const auto on = [&](Side side, double us) { return part.fixed && *part.fixed != side ? MinCut::kForbidden : us; };
    cut_.add_edge(node, MinCut::kSecond, on(Side::host, part.host_us));
    cut_.add_edge(MinCut::kFirst, node, on(Side::device, part.device_us));
    nodes_.push_back(node);
  }
  /// It crosses once, however many read it: a node of its own is on the side of any reader that needs the crossing.
  void add_data(const BlockCost::Data& data) {
    const MinCut::Node maker = data.maker == BlockCost::Data::kHost ? MinCut::kFirst : nodes_[data.maker];
    const MinCut::Node on_device = cut_.add_node(), on_host = cut_.add_node();
    cut_.add_edge(maker, on_device, data.to_device_us);
    cut_.add_edge(on_host, maker, data.to_host_us);
    for (const std::size_t reader : data.readers) {
      cut_.add_edge(on_device, nodes_[reader], MinCut::kForbidden);
      cut_.add_edge(nodes_[reader], on_host, MinCut::kForbidden);
    }
    if (data.leaves) cut_.add_edge(MinCut::kFirst, on_host, MinCut::kForbidden);
  }
  void add_launches() {
    MinCut::Node before = MinCut::kFirst;
    for (const MinCut::Node node : nodes_) {
      cut_.add_edge(before, node, block_.device_us);
      before = node;
    }
  }
  void add_host() {
    const MinCut::Node any = cut_.add_node();
    cut_.add_edge(any, MinCut::kSecond, block_.host_us);
    for (const MinCut::Node node : nodes_) cut_.add_edge(node, any, MinCut::kForbidden);
  }

  const BlockCost& block_;
  MinCut cut_;
  std::vector<MinCut::Node> nodes_;
};

double crossing_time(const BlockCost::Data& data, const Sides& sides) {
  const Side made = data.maker == BlockCost::Data::kHost ? Side::host : sides[data.maker];
  const Side other = made == Side::host ? Side::device : Side::host;
  const bool crosses = (data.leaves && other == Side::host) ||
                       std::ranges::any_of(data.readers, [&](std::size_t reader) { return sides[reader] == other; });
  return !crosses ? 0 : other == Side::device ? data.to_device_us : data.to_host_us;
}

}  // namespace

double host_time_of(const BlockCost& block, const Sides& sides) {
  if (std::ranges::find(sides, Side::host) == sides.end()) return 0;
  double us = block.host_us;
  for (std::size_t p = 0; p < sides.size(); ++p)
    if (sides[p] == Side::host) us += block.parts[p].host_us;
  return us;
}

double time_of(const BlockCost& block, const Sides& sides) {
  double us = host_time_of(block, sides);
  Side before = Side::host;
  for (std::size_t p = 0; p < sides.size(); ++p) {
    if (sides[p] == Side::device) us += block.parts[p].device_us + (before == Side::host ? block.device_us : 0);
    before = sides[p];
  }
  for (const BlockCost::Data& data : block.data) us += crossing_time(data, sides);
  return us;
}

Sides quickest(const BlockCost& block) {
  return CostGraph(block).sides();
}

Sides all_on(const BlockCost& block, Side side) {
  Sides sides;
  for (const BlockCost::Part& part : block.parts) sides.push_back(part.fixed.value_or(side));
  return sides;
}

}  // namespace iqd
