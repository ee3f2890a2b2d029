// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/bench/bench_row.hpp"

namespace iqd {

/// Finds from which size on a device is quicker than the processor, of rows whose shapes are sizes.
class Winners {
 public:
  struct Winner {
    std::string name;
    std::string variant;
    std::string backend;               // the device
    std::optional<std::int64_t> from;  // it is quicker there and at every larger size; nothing: it never is
    std::int64_t of = 0;               // sizes that both were measured at
  };

  /// What counts is the median; in a chain, what the block adds to it. In any order.
  void add(const BenchRow& row);
  /// One for each name and variant that the processor and a device were measured with.
  std::vector<Winner> all() const;

 private:
  using Subject = std::pair<std::string, std::string>;  // name, variant
  using Times = std::map<std::int64_t, double>;         // by size, in microseconds
  std::vector<Subject> subjects_;                       // in order
  std::map<Subject, std::map<std::string, Times>> times_;
};

std::string winner_text(const Winners::Winner& winner);
std::string winner_json(const Winners::Winner& winner);

}  // namespace iqd
