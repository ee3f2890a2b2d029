// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "pipeline/stage/positions.hpp"

/// Sums over windows that move by one sample. They do not accumulate error: nothing is ever subtracted, so a NaN or a
/// huge value affects only the windows that contain it. A sum depends only on its own samples and their positions,
/// however the stream is cut.
namespace iqd::dsp {

/// put(n, f(n) + … + f(n + window - 1)) for n = begin … end-1, in order. Two additions a sample (van Herk): each sum is
/// one up to the end of a cell of `window` positions plus one from the beginning of the next. `scratch` has room for
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
