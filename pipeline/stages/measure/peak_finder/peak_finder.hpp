// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/views.hpp"
#include "config/fields.hpp"

/// Local maxima: x(i) > threshold, x(i) > x(i-1) and x(i) >= x(i+1), so that a plateau counts once, at its beginning.
/// Of more than there is room for, the largest are kept (of equal ones the earlier); they come in order of position.
///
/// x      f32, positions begin-1 … end of it are read where they exist; peaks are looked for in begin … end-1
/// peaks  room for the most that are wanted: (position - begin, value)
///
/// A neighbour that does not exist counts as minus infinity. NaN is no peak, and neither is what lies beside it; plus
/// infinity is one. A position is exact up to 2^24. Depends on how a stream is cut, as its positions count from
/// `begin`. Keeps nothing between calls.
namespace iqd::peak_finder {

struct Config {
  std::optional<double> threshold;
  std::int64_t max = 16;

  void fields(FieldVisitor& visitor);
};

struct Peak {
  float position;
  float value;
  friend bool operator==(const Peak&, const Peak&) = default;
};

/// How many there are.
std::int64_t run_cpu(View<const float, 1> x, std::int64_t begin, std::int64_t end, float threshold,
                     std::span<Peak> peaks) noexcept;

}  // namespace iqd::peak_finder
