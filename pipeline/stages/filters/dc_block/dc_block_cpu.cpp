// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <utility>

#include "pipeline/stages/filters/dc_block/dc_block.hpp"
#include "pipeline/stages/moving_sum.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::dc_block {
namespace {

using Complex = std::complex<double>;

template <class Sum> struct Room {
  std::int64_t length;
  Scratch scratch;
  Sum* now = scratch.take<Sum>(length);
  Sum* next = scratch.take<Sum>(length);
  Sum* inner = scratch.take<Sum>(length);
  Sum* outer = scratch.take<Sum>(length);
};

/// sum over |k| < length of (length - |k|) x(n + k), n = begin … end-1: the moving sum of the moving sum. Keeps two
/// cells of the inner one.
template <class Sum, class F, class Put> void triangular_sums(std::int64_t length, std::int64_t begin, std::int64_t end,
                                                              std::byte* scratch, const F& x, const Put& put) {
  Room<Sum> room{length, Scratch(scratch)};
  const std::int64_t from = begin - length + 1, to = end - length + 1, last = end;
  const auto fill = [&](std::int64_t cell, Sum* sums) {
    dsp::moving_sums(length, std::max(cell, from), std::min(cell + length, last), room.inner, x,
                     [&](std::int64_t n, const Sum& sum) { sums[n - cell] = sum; });
  };
  std::int64_t cell = floor_div(from, length) * length;
  fill(cell, room.now);
  for (; cell < to; cell += length) {
    const std::int64_t behind = cell + length;
    fill(behind, room.next);
    dsp::moving_sums(
        length, std::max(cell, from), std::min(behind, to), room.outer,
        [&](std::int64_t n) { return n < behind ? room.now[n - cell] : room.next[n - behind]; },
        [&](std::int64_t n, const Sum& sum) { put(n + length - 1, sum); });
    std::swap(room.now, room.next);
  }
}

}  // namespace

std::size_t scratch_bytes(std::int64_t length) noexcept {
  return Room<Complex>{length, Scratch(nullptr)}.scratch.bytes();
}

template <class Sample> void run_cpu(std::int64_t length, View<const Sample, 2> x, std::int64_t first,
                                     View<Sample, 2> y, std::int64_t out_first, std::byte* scratch) noexcept {
  using Sum = std::conditional_t<std::is_same_v<Sample, cf32>, Complex, double>;
  const Positions there{first, first + x.extent(1)};
  for (std::int64_t r = 0; r < y.extent(0); ++r) {
    const Sample* const row = x.row(r).data();
    const auto at = [&](std::int64_t n) { return there.has(n) ? Sum(row[n - first]) : Sum{}; };
    triangular_sums<Sum>(length, out_first, out_first + y.extent(1), scratch, at, [&](std::int64_t n, const Sum& sum) {
      y(r, n - out_first) = Sample(Sum(row[n - first]) - sum / weight_of(length, n - there.first, there.end - 1 - n));
    });
  }
}

template void run_cpu(std::int64_t, View<const cf32, 2>, std::int64_t, View<cf32, 2>, std::int64_t,
                      std::byte*) noexcept;
template void run_cpu(std::int64_t, View<const float, 2>, std::int64_t, View<float, 2>, std::int64_t,
                      std::byte*) noexcept;

}  // namespace iqd::dc_block
