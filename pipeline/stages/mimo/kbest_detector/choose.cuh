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
/// The sum of what threads of lower number have.
template <class Group> IQD_HOST_DEVICE int sum_before(Group& group, int x) {
  const int lane = static_cast<int>(group.thread_rank());
  int sum = x;
  for (int step = 1; step < static_cast<int>(group.num_threads()); step *= 2) {
    const int below = group.shfl_up(sum, step);
    if (lane >= step) sum += below;
  }
  return sum - x;
}

struct Counts {
  int less, equal;
};
/// How many continuations of path k cost less than the limit, and just that.
template <class Paths> IQD_HOST_DEVICE Counts count_path(const Paths& paths, int k, float limit) {
  const float *const re = paths.cost_re(k), *const im = paths.cost_im(k);
  Counts counts{0, 0};
  for (int i = 0; i < Paths::kLevels; ++i)
#pragma unroll
    for (int j = 0; j < Paths::kLevels; ++j) {
      const float cost = re[i] + im[j];
      counts.less += cost < limit;
      counts.equal += cost == limit;
    }
  return counts;
}
template <class Paths> IQD_HOST_DEVICE int count_up_to(Paths& paths, float limit) {
  int found = 0;
  for (int k = paths.lane(); k < paths.size(); k += paths.lanes()) {
    const float *const re = paths.cost_re(k), *const im = paths.cost_im(k);
    for (int i = 0; i < Paths::kLevels; ++i)
#pragma unroll
      for (int j = 0; j < Paths::kLevels; ++j) found += re[i] + im[j] <= limit;
  }
  return sum_over(paths.group(), found);
}

/// The cost that `survivors` continuations do not exceed, or more where several have just that: by halving the range,
/// in the order of floats' bits. All threads get the same.
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
    const int found = count_up_to(paths, mimo::float_of_bits(middle));
    if (found < survivors)
      above = middle;
    else
      limit = middle;
    if (found == survivors) break;
  }
  return mimo::float_of_bits(limit);
}

/// Of all continuations those of least cost, in the order of paths and symbols; of several with the cost that just gets
/// in the first. A thread a path.
template <class Paths> IQD_HOST_DEVICE int choose(Paths& paths, int most) {
  const int all = paths.size() << 2 * Paths::kHalf, survivors = all < most ? all : most;
  const float limit = find_limit(paths, survivors);
  int less = 0;
  for (int k = paths.lane(); k < paths.size(); k += paths.lanes()) less += count_path(paths, k, limit).less;
  int equal = survivors - sum_over(paths.group(), less);  // of those that get in yet
  int place = 0;
  for (int first = 0; first < paths.size(); first += paths.lanes()) {
    const int k = first + paths.lane();
    const Counts counts = k < paths.size() ? count_path(paths, k, limit) : Counts{0, 0};
    const int before = sum_before(paths.group(), counts.equal);
    int taken = equal - before;
    taken = taken < 0 ? 0 : taken < counts.equal ? taken : counts.equal;
    const int mine = counts.less + taken;
    int at = place + sum_before(paths.group(), mine);
    for (int q = 0; mine > 0 && q < Paths::kPoints; ++q) {
      const float cost = paths.cost_re(k)[Paths::real_of(q)] + paths.cost_im(k)[Paths::imag_of(q)];
      if (cost < limit || (cost == limit && taken-- > 0)) paths.put(at++, k, q, cost);
    }
    place += sum_over(paths.group(), mine);
    equal -= sum_over(paths.group(), counts.equal);
  }
  return survivors;
}

}  // namespace iqd::kbest_detector
