// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

namespace iqd::preamble_search {

/// The first largest L of so many positions beside each other; 0 where there is none. A cell is at most half + 1 long,
/// so that it has one peak at most, and this is the one that it may be.
struct Cell {
  float level = 0;
  float metric = 0;        // T there
  std::int32_t place = 0;  // counted from the cell's first position
};

enum class Verdict : std::uint8_t {
  no,    // something in the cell is larger, or as large and earlier
  yes,   // nothing is
  look,  // the cell's largest would be, but lies too far away: what does not has to be looked at one by one
};

/// Whether `level` at n is the largest, as far as this cell goes. The cell reaches into n - half … n + half.
IQD_HOST_DEVICE inline Verdict compare(const Cell& cell, std::int64_t cell_first, std::int64_t n, float level,
                                       std::int64_t half) noexcept {
  if (cell.level < level) return Verdict::yes;
  const std::int64_t at = cell_first + cell.place;
  if (at < n - half || at > n + half) return Verdict::look;
  return cell.level > level || at < n ? Verdict::no : Verdict::yes;
}

}  // namespace iqd::preamble_search
