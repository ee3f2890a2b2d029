// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/items.cuh"
#include "pipeline/stages/noma/noma_channel_estimator/user_desk.cuh"

/// The filters, as UserFilters of the CPU: a thread block takes a carrier of a frame.
namespace iqd::noma_channel_estimator {
namespace {

constexpr int kFilterThreads = 64;

/// Shared memory of a thread block.
__host__ __device__ inline std::int64_t filter_numbers(const Extents& e) {
  return 2 * std::int64_t{e.users} * e.rx + 2 * std::int64_t{e.users} * e.users + e.users;
}

/// `again`: others count with what is left of them.
__global__ void __launch_bounds__(kFilterThreads) separate_users(const UserJob job, bool again) {
  extern __shared__ double2 shared_numbers[];
  const Extents& e = job.e;
  const int users = e.users, rx = e.rx, thread = static_cast<int>(threadIdx.x), c = static_cast<int>(blockIdx.x);
  const std::int64_t frame = blockIdx.y;
  if (frame >= dsp::read_once(job.found_at)) return;
  const UserDesk d = desk_of(job, frame);
  double2* const white = shared_numbers;            // [user][rx]: b
  double2* const columns = white + users * rx;      // [user][rx]
  double2* const gram = columns + users * rx;       // [user][user]
  double2* const factor = gram + users * users;     // the same
  double2* const inverse = factor + users * users;  // [user]
  // After a refinement too, one function of time is left.
  const float2* const h = d.parts + std::int64_t{c} * users * rx;
  for (int u = thread; u < users; u += kFilterThreads) {
    for (int r = 0; r < rx; ++r) white[u * rx + r] = wide(h[u * rx + r]);
    solve_lower(d.root, rx, white + u * rx);
  }
  __syncthreads();
  for (int i = thread; i < users * users; i += kFilterThreads) {
    const int u = i / users, v = i % users;
    double2 sum{0, 0};
    for (int r = 0; r < rx; ++r) add(sum, times(conj_of(white[u * rx + r]), white[v * rx + r]));
    gram[i] = sum;
  }
  __syncthreads();
  for (int u = 0; u < users; ++u) {
    const auto share = [&](int v) { return !again || v == u ? 1.0 : sqrt(d.left[v]); };
    if (again || u == 0) {
      for (int i = thread; i < users * users; i += kFilterThreads) {
        const double both = share(i / users) * share(i % users);
        factor[i] = {gram[i].x * both + (i / users == i % users ? 1 : 0), gram[i].y * both};
      }
      take_lower_root(factor, users);
    }
    if (thread == 0) {
      for (int v = 0; v < users; ++v) inverse[v] = {v == u ? 1.0 : 0.0, 0};
      solve_lower(factor, users, inverse);
      solve_upper(factor, users, inverse);
    }
    __syncthreads();
    double2* const column = columns + u * rx;
    for (int r = thread; r < rx; r += kFilterThreads) {
      double2 sum{0, 0};
      for (int v = 0; v < users; ++v) {
        const double own = share(v);
        add(sum, times(white[v * rx + r], {inverse[v].x * own, inverse[v].y * own}));
      }
      column[r] = sum;
    }
    __syncthreads();
    double own = 0;
    for (int r = 0; r < rx; ++r) own += times(conj_of(column[r]), white[u * rx + r]).x;
    const bool heard = own > double{kLeastShare};
    const std::int64_t at = std::int64_t{c} * users + u;
    if (thread == 0) d.noise[at] = heard ? static_cast<float>(inverse[u].x / own) : 0;
    for (int v = thread; v < users; v += kFilterThreads) {
      double2 sum{0, 0};
      for (int r = 0; r < rx; ++r) add(sum, times(conj_of(column[r]), white[v * rx + r]));
      d.through[at * users + v] = heard ? narrow({sum.x / own, sum.y / own}) : float2{0, 0};
    }
    __syncthreads();
    // The last thread makes the filter while the others continue with the next user.
    if (thread == kFilterThreads - 1) {
      solve_upper(d.root, rx, column);
      for (int r = 0; r < rx; ++r) {
        const double scale = d.scale[r] / own;
        d.filters[at * rx + r] = heard ? narrow({column[r].x * scale, column[r].y * scale}) : float2{0, 0};
      }
    }
  }
}

}  // namespace
}  // namespace iqd::noma_channel_estimator
