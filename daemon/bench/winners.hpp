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

/// Finds from which size on a device is faster than the CPU, for rows whose shapes are sizes.
class Winners {
 public:
  struct Winner {
    std::string name;
    std::string variant;
    std::string backend;               // the device
    std::optional<std::int64_t> from;  // it is faster at this and every larger size; nothing: never
    std::int64_t of = 0;               // number of sizes measured on both
  };

  /// Compares medians; in a chain, what the block adds. In any order.
  void add(const BenchRow& row);
  /// One for each name and variant measured on both the CPU and a device.
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
