// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

namespace iqd::preamble_search {

/// The first largest U of a cell, that is of consecutive positions; 0 if there is none. A cell has at most near + 1
/// positions, so it holds at most one candidate: this one.
struct Cell {
  float level = 0;         // U
  float metric = 0;        // T there
  std::int32_t place = 0;  // counted from the cell's first position
};

enum class Verdict : std::uint8_t {
  no,    // a position in the cell is larger, or as large and earlier
  yes,   // no position is
  look,  // the cell's largest would be, but is too far away: the nearer positions need a look one by one
};

/// Whether `level` at n is the largest as far as this cell is concerned. The cell overlaps n - near … n + near.
IQD_HOST_DEVICE inline Verdict compare(const Cell& cell, std::int64_t cell_first, std::int64_t n, float level,
                                       std::int64_t near) noexcept {
  if (cell.level < level) return Verdict::yes;
  const std::int64_t at = cell_first + cell.place;
  if (at < n - near || at > n + near) return Verdict::look;
  return cell.level > level || at < n ? Verdict::no : Verdict::yes;
}

}  // namespace iqd::preamble_search
