// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/stages/filters/iq_correct/iq_correct.hpp"

namespace iqd::iq_correct {
namespace {

/// y has the positions begin … end-1.
void correct(const Correction& c, const Row& row, std::int64_t begin, std::int64_t end, cf32* y) noexcept {
  std::copy_n(row.at(begin), 2 * (end - begin), reinterpret_cast<float*>(y));
  auto* const values = reinterpret_cast<float*>(y);
  for (std::int64_t i = 0; i < 2 * (end - begin); i += 2) c.apply(values[i], values[i + 1]);
}

/// Adds samples of one chunk to its parts.
void sum(const Row& row, std::int64_t begin, std::int64_t end, Sums (&parts)[kParts]) noexcept {
  const float* x = row.at(begin);
  for (std::int64_t n = begin; n < end; ++n, x += 2) parts[static_cast<std::uint64_t>(n) % kParts].add(x[0], x[1]);
}

/// In the order in which the lanes of a warp add.
Sums total(const Sums (&parts)[kParts]) noexcept {
  Sums sums[kParts];
  std::ranges::copy(parts, sums);
  for (int step = kParts / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) sums[i].merge(1, sums[i + step]);
  return sums[0];
}

/// Calls `each(begin, end)` with the parts of begin … end-1 in each chunk.
template <class Each> void by_chunks(std::int64_t begin, std::int64_t end, Each each) {
  while (begin < end) {
    const std::int64_t stop = std::min(end, (floor_div(begin, kChunk) + 1) * kChunk);
    each(begin, stop);
    begin = stop;
  }
}

}  // namespace

void run_cpu(const Averaging& averaging, const Row& x, cf32* y, std::int64_t first, std::int64_t end,
             std::int64_t end_new, State& state) noexcept {
  const auto advance = [&](State& from, std::int64_t begin, std::int64_t stop) {
    by_chunks(begin, stop, [&](std::int64_t b, std::int64_t e) {
      correct(from.past.now, x, b, e, y + (b - first));
      sum(x, b, e, from.begun);
      if (e % kChunk != 0) return;
      from.past.add(total(from.begun), averaging.keeps);
      std::ranges::fill(from.begun, Sums{});
    });
  };
  advance(state, first, std::min(end, end_new));
  State beyond = state;
  advance(beyond, std::min(end, end_new), end);
}

Correction run_block_cpu(const Row& x, cf32* y, std::int64_t first, std::int64_t end, std::int64_t first_new,
                         std::int64_t end_new) noexcept {
  Past all;
  by_chunks(first_new, end_new, [&](std::int64_t begin, std::int64_t stop) {
    Sums parts[kParts];
    sum(x, begin, stop, parts);
    all.add(total(parts), 1);
  });
  correct(all.now, x, first, end, y);
  return all.now;
}

}  // namespace iqd::iq_correct
