// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/measure/peak_finder/peak_finder.hpp"

namespace iqd::peak_finder {
namespace {

bool larger(const Peak& a, const Peak& b) {
  return a.value > b.value || (a.value == b.value && a.position < b.position);
}

bool is_peak(const View<const float, 1>& x, std::int64_t i) {
  const bool rises = i == 0 || x(i) > x(i - 1);
  return rises && (i + 1 == x.extent(0) || x(i) >= x(i + 1));
}

}  // namespace

std::int64_t run_cpu(View<const float, 1> x, std::int64_t begin, std::int64_t end, float threshold,
                     std::span<Peak> peaks) noexcept {
  // A heap with the smallest kept peak on top.
  auto last = peaks.begin();
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(x(i) > threshold) || !is_peak(x, i)) continue;
    const Peak peak{static_cast<float>(i - begin), x(i)};
    if (last != peaks.end()) {
      *last++ = peak;
      std::push_heap(peaks.begin(), last, larger);
    } else if (!peaks.empty() && larger(peak, peaks.front())) {
      std::pop_heap(peaks.begin(), last, larger);
      peaks.back() = peak;
      std::push_heap(peaks.begin(), last, larger);
    }
  }
  std::sort(peaks.begin(), last, [](const Peak& a, const Peak& b) { return a.position < b.position; });
  return last - peaks.begin();
}

}  // namespace iqd::peak_finder
