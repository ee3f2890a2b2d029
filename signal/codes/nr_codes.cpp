// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/nr_codes.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace iqd {
namespace {

struct BaseEntry {
  std::int16_t row, column;
  std::array<std::int16_t, kNrSets.size()> shifts;
};

struct BaseGraph {
  std::vector<BaseEntry> entries;
  int rows = 0, columns = 0;

  explicit BaseGraph(const char* text) {
    std::istringstream in(text);
    for (BaseEntry e{}; in >> e.row >> e.column;) {
      for (auto& shift : e.shifts) in >> shift;
      rows = std::max(rows, e.row + 1);
      columns = std::max(columns, e.column + 1);
      entries.push_back(e);
    }
  }
};

std::size_t set_of(int lift) {
  while (lift % 2 == 0 && lift > 2) lift /= 2;
  return static_cast<std::size_t>(std::ranges::find(kNrSets, lift) - kNrSets.begin());
}

/// Both graphs with all lifting sizes.
class Lifted {
 public:
  Lifted() {
    const std::size_t count = nr_tables().size() * nr_lifts().size();
    names_.reserve(count);
    entries_.reserve(count);
    for (std::size_t g = 0; g < nr_tables().size(); ++g) {
      const BaseGraph graph(nr_tables()[g].text);
      for (const int lift : nr_lifts()) add(graph, static_cast<int>(g) + 1, lift);
    }
  }
  std::span<const LdpcCode> codes() const { return codes_; }

 private:
  void add(const BaseGraph& graph, int number, int lift) {
    const std::size_t set = set_of(lift);
    auto& entries = entries_.emplace_back();
    for (const BaseEntry& e : graph.entries)
      entries.push_back({e.row, e.column, static_cast<std::int16_t>(e.shifts[set] % lift)});
    codes_.push_back({.name = names_.emplace_back("nr_bg" + std::to_string(number) + "_z" + std::to_string(lift)),
                      .lift = lift,
                      .rows = graph.rows,
                      .columns = graph.columns,
                      .core = 4,
                      .hidden = 2,
                      .entries = entries});
  }

  std::vector<std::string> names_;
  std::vector<std::vector<LdpcEntry>> entries_;
  std::vector<LdpcCode> codes_;
};

}  // namespace

std::span<const int> nr_lifts() {
  static const auto kLifts = [] {
    std::vector<int> lifts;
    for (const int set : kNrSets)
      for (int lift = set; lift <= kNrLargestLift; lift *= 2) lifts.push_back(lift);
    std::ranges::sort(lifts);
    return lifts;
  }();
  return kLifts;
}

std::span<const LdpcCode> nr_codes() {
  static const Lifted kLifted;
  return kLifted.codes();
}

const LdpcCode& nr_code(int graph, int lift) {
  const auto at = std::ranges::lower_bound(nr_lifts(), lift) - nr_lifts().begin();
  return nr_codes()[static_cast<std::size_t>(graph - 1) * nr_lifts().size() + static_cast<std::size_t>(at)];
}

}  // namespace iqd
