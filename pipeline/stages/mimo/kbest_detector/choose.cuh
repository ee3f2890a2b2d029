// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/mimo/paths.cuh"

namespace iqd::kbest_detector {

template <class Group> IQD_HOST_DEVICE int sum_over(Group& group, int x) {
  for (int step = 1; step < static_cast<int>(group.num_threads()); step *= 2) x += group.shfl_xor(x, step);
  return x;
}
template <class Group> IQD_HOST_DEVICE float least_over(Group& group, float x) {
  for (int step = 1; step < static_cast<int>(group.num_threads()); step *= 2) x = fminf(x, group.shfl_xor(x, step));
  return x;
}
/// Sum of x over the threads with lower numbers.
template <class Group> IQD_HOST_DEVICE int sum_before(Group& group, int x) {
  const int lane = static_cast<int>(group.thread_rank());
  int sum = x;
  for (int step = 1; step < static_cast<int>(group.num_threads()); step *= 2) {
    const int below = group.shfl_up(sum, step);
    if (lane >= step) sum += below;
  }
  return sum - x;
}

/// Number of continuations of path k that cost at most the limit; 0 if the limit is NaN. Most levels of the real axis
/// are rejected without looking at the other axis.
template <class Paths> IQD_HOST_DEVICE int count_path(const Paths& paths, int k, float limit) {
  const float *const re = paths.cost_re(k), *const im = paths.cost_im(k);
  float least = im[0];
#pragma unroll
  for (int j = 1; j < Paths::kLevels; ++j) least = fminf(least, im[j]);
  int found = 0;
  for (int i = 0; i < Paths::kLevels; ++i) {
    if (re[i] + least > limit) continue;
#pragma unroll
    for (int j = 0; j < Paths::kLevels; ++j) found += re[i] + im[j] <= limit;
  }
  return found;
}
template <class Paths> IQD_HOST_DEVICE int count_all(Paths& paths, float limit) {
  int found = 0;
  for (int k = paths.lane(); k < paths.size(); k += paths.lanes()) found += count_path(paths, k, limit);
  return sum_over(paths.group(), found);
}

/// The least cost that at least `survivors` continuations do not exceed; more than those only where several have
/// exactly this cost. Bisects over the bits of floats. All threads get the same.
template <class Paths> IQD_HOST_DEVICE float find_limit(Paths& paths, int survivors) {
  float low = INFINITY, high = 0;
  for (int k = paths.lane(); k < paths.size(); k += paths.lanes()) {
    const float *const re = paths.cost_re(k), *const im = paths.cost_im(k);
    float least_re = re[0], least_im = im[0], most_re = re[0], most_im = im[0];
    for (int i = 1; i < Paths::kLevels; ++i) {
      least_re = fminf(least_re, re[i]), most_re = fmaxf(most_re, re[i]);
      least_im = fminf(least_im, im[i]), most_im = fmaxf(most_im, im[i]);
    }
    low = fminf(low, least_re + least_im);
    high = fmaxf(high, paths.size() < survivors ? most_re + most_im : least_re + least_im);
  }
  std::int32_t above = mimo::bits_of_float(least_over(paths.group(), low)) - 1;
  std::int32_t limit = mimo::bits_of_float(-least_over(paths.group(), -high));
  while (limit - above > 1) {
    const std::int32_t middle = above + (limit - above) / 2;
    const int found = count_all(paths, mimo::float_of_bits(middle));
    if (found < survivors)
      above = middle;
    else
      limit = middle;
    if (found == survivors) break;
  }
  return mimo::float_of_bits(limit);
}

/// Puts `count` continuations of path k from `place` on, in the order of symbols: those below the limit, and the first
/// `equal` of those that cost exactly the limit.
template <class Paths>
IQD_HOST_DEVICE void put_path(Paths& paths, int k, int place, int count, float limit, int equal) {
  constexpr int kTogether = Paths::kPoints < 16 ? Paths::kPoints : 16;  // levels differ in two compile-time bits
  const float *const re = paths.cost_re(k), *const im = paths.cost_im(k);
  const int end = place + count;
  for (int first = 0; place < end; first += kTogether) {
    const float *const re_here = re + Paths::real_of(first), *const im_here = im + Paths::imag_of(first);
#pragma unroll
    for (int q = 0; q < kTogether; ++q) {
      const float cost = re_here[Paths::real_of(q)] + im_here[Paths::imag_of(q)];
      if (cost < limit || (cost == limit && equal-- > 0)) paths.put(place++, k, first + q, cost);
    }
  }
}

/// The continuations of least cost, in the order of paths and symbols; of those that cost exactly the limit, the first
/// ones. One thread per path.
template <class Paths> IQD_HOST_DEVICE int choose(Paths& paths, int most) {
  const int all = paths.size() << 2 * Paths::kHalf, survivors = all < most ? all : most;
  const float limit = find_limit(paths, survivors);
  const float below = mimo::float_of_bits(mimo::bits_of_float(limit) - 1);  // NaN below 0
  int equal = survivors - count_all(paths, below);                          // how many at the limit are still taken
  int place = 0;
  for (int first = 0; first < paths.size(); first += paths.lanes()) {
    const int k = first + paths.lane();
    const int less = k < paths.size() ? count_path(paths, k, below) : 0;
    const int just = k < paths.size() ? count_path(paths, k, limit) - less : 0;
    const int left = equal - sum_before(paths.group(), just);
    const int taken = left < 0 ? 0 : left < just ? left : just;
    const int mine = less + taken;
    put_path(paths, k, place + sum_before(paths.group(), mine), mine, limit, taken);
    place += sum_over(paths.group(), mine);
    equal -= sum_over(paths.group(), just);
  }
  return survivors;
}

}  // namespace iqd::kbest_detector
