// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "base/views.hpp"

/// Sums over windows that move by a sample, which do not wear out: nothing is ever subtracted, so a NaN or a huge value
/// is gone with its sample, and a sum is a function of its own samples and their places, however the stream is cut.
namespace iqd::dsp {

/// Positions of a stream that are there.
struct Range {
  std::int64_t first = 0;
  std::int64_t end = 0;
  IQD_HOST_DEVICE bool has(std::int64_t n) const noexcept { return n >= first && n < end; }
  /// How many of begin … end-1 are there.
  IQD_HOST_DEVICE std::int64_t common(std::int64_t from, std::int64_t to) const noexcept {
    const std::int64_t low = from > first ? from : first, high = to < end ? to : end;
    return high > low ? high - low : 0;
  }
};

/// put(n, f(n) + … + f(n + window - 1)) for n = begin … end-1, in order. Two additions a sample (van Herk): the sum is
/// one up to the end of a cell of `window` positions, and one from the beginning of the next. `scratch` has room for
/// `window` sums.
template <class Sum, class F, class Put>
void moving_sums(std::int64_t window, std::int64_t begin, std::int64_t end, Sum* scratch, const F& f, const Put& put) {
  for (std::int64_t cell = floor_div(begin, window) * window; cell < end; cell += window) {
    const std::int64_t next = cell + window, from = std::max(begin, cell), to = std::min(end, next);
    Sum behind{};
    for (std::int64_t n = next - 1; n >= from; --n) scratch[n - cell] = behind += f(n);
    Sum ahead{};
    for (std::int64_t n = cell; n < to; ++n) {
      if (n > cell) ahead += f(n + window - 1);
      if (n >= from) put(n, scratch[n - cell] + ahead);
    }
  }
}

}  // namespace iqd::dsp
