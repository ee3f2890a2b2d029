// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/transmit/aph_estimator/job.cuh"

/// From the delay to the equations. blockIdx.y is the fit.
namespace iqd::aph_estimator {
namespace {

__device__ Trying& trying(const Job& job) {
  return job.record->tries[blockIdx.y];
}
/// u(0); u exists in the fit's range.
__device__ Complex64* u_of(const Job& job) {
  return job.u + blockIdx.y * job.n;
}

/// Sums computed while s is moved.
struct Moved {
  Cross cross;
  Complex64 z_sum;
  __device__ Moved& operator+=(const Moved& o) {
    cross += o.cross;
    z_sum += o.z_sum;
    return *this;
  }
};

__global__ void __launch_bounds__(kThreads) move(const __grid_constant__ Job job) {
  __shared__ double taps[2 * kReach];
  const Trying& now = trying(job);
  if (!now.goes_on) return;
  const double whole = floor(now.delay), part = now.delay - whole;
  if (threadIdx.x < 2 * kReach && part > 0) taps[threadIdx.x] = sinc_tap(threadIdx.x, part);
  __syncthreads();
  const cf32* const from = job.s + static_cast<std::int64_t>(whole);
  Complex64* const u = u_of(job);
  Moved sum;
  for_each(now.range.length(), [&](std::int64_t i) {
    const std::int64_t n = now.range.begin + i;
    double re = 0, im = 0;
    if (part == 0) re = from[n].real(), im = from[n].imag();
    for (std::int64_t k = 0; part > 0 && k < 2 * kReach; ++k) {
      const cf32 x = from[n + k - kReach + 1];
      re += taps[k] * x.real();
      im += taps[k] * x.imag();
    }
    u[n] = {re, im};
    sum.cross.add(job.z[n], u[n]);
    if (i >= kSkipped) sum.z_sum += job.z[n];
  });
  leave(job, static_cast<int>(blockIdx.y), sum);
}

__global__ void __launch_bounds__(kThreads) find_gain(const __grid_constant__ Job job) {
  Trying& now = trying(job);
  if (!now.goes_on) return;
  const Moved sum = gather<Moved>(job, static_cast<int>(blockIdx.y));
  if (threadIdx.x > 0) return;
  now.fit.gain = sum.cross.gain(job.gain);
  now.factor = inverse(now.fit.gain);
  now.power = sum.cross.u_energy * power_of(now.factor) / static_cast<double>(now.range.length());
  now.z_sum = sum.z_sum;
}

__global__ void __launch_bounds__(kThreads) scale_signal(const __grid_constant__ Job job) {
  const Trying& now = trying(job);
  if (!now.goes_on) return;
  Complex64* const u = u_of(job) + now.range.begin;
  for_each(now.range.length(), [&](std::int64_t i) { u[i] = product(u[i], now.factor); });
}

/// The functions, z and 1 for a run of samples, with the functions of those before it; behind the end all is 0.
constexpr int kRowLength = AphOrders::kMostTaps + kThreads;
using Row = Complex64[kRowLength];

__device__ void load_rows(const Job& job, std::int64_t start, Row* rows) {
  const Trying& now = trying(job);
  const Complex64* const u = u_of(job);
  const double scale = 1 / sqrt(now.power);
  const int functions = job.functions.count;
  for (int i = static_cast<int>(threadIdx.x) + AphOrders::kMostTaps - job.orders.taps; i < kRowLength; i += kThreads) {
    const std::int64_t n = start + i - AphOrders::kMostTaps;
    const bool is_there = n < now.range.end;
    Complex64 psi[Functions::kMost];
    job.functions.of(is_there ? scale * u[n] : Complex64(), psi);
    for (int b = 0; b < functions; ++b) rows[b][i] = psi[b];
    rows[functions][i] = is_there ? Complex64(job.z[n]) : Complex64();
    rows[functions + 1][i] = {is_there ? 1.0 : 0.0, 0};
  }
}

/// A thread computes at most three of the sums: 560 for the highest orders.
__global__ void __launch_bounds__(kThreads) add_products(const __grid_constant__ Job job) {
  __shared__ __align__(16) unsigned char memory[(Functions::kMost + 2) * sizeof(Row)];
  Row* const rows = reinterpret_cast<Row*>(memory);
  constexpr int kEach = 3;
  const Trying& now = trying(job);
  if (!now.goes_on) return;
  const int taps = job.orders.taps, functions = job.functions.count;
  const int count = (functions + 2) * functions * taps;
  Sums mine[kEach];
  for (std::int64_t start = now.range.begin + kSkipped + static_cast<std::int64_t>(blockIdx.x) * kThreads;
       start < now.range.end; start += kGroups * kThreads) {
    __syncthreads();
    load_rows(job, start, rows);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int at = static_cast<int>(threadIdx.x) + e * kThreads;
      if (at >= count) break;
      const int pair = at / taps, lag = at - pair * taps;
      const Complex64* const left = rows[pair / functions] + AphOrders::kMostTaps;
      const Complex64* const right = rows[pair % functions] + AphOrders::kMostTaps - lag;
      for (int i = 0; i < kThreads; ++i) mine[e].add(left[i], right[i]);
    }
  }
  Sums* const to =
      reinterpret_cast<Sums*>(job.partials) + (static_cast<std::int64_t>(blockIdx.y) * kGroups + blockIdx.x) * count;
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (const int at = static_cast<int>(threadIdx.x) + e * kThreads; at < count) to[at] = mine[e];
}

/// One thread per number in the sums.
__global__ void __launch_bounds__(kThreads) gather_products(const __grid_constant__ Job job) {
  if (!trying(job).goes_on) return;
  const int fit = static_cast<int>(blockIdx.y), count = 4 * job.assembly(fit).sum_count();
  const int at = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (at >= count) return;
  const double* const from = job.partials + static_cast<std::int64_t>(fit) * kGroups * count + at;
  double sum = 0;
#pragma unroll 8
  for (int g = 0; g < kGroups; ++g) sum += from[static_cast<std::int64_t>(g) * count];
  reinterpret_cast<double*>(job.sums + static_cast<std::int64_t>(fit) * (count / 4))[at] = sum;
}

/// One thread block per fit.
__global__ void __launch_bounds__(kThreads) fill_equations(const __grid_constant__ Job job) {
  const Trying& now = trying(job);
  if (!now.goes_on) return;
  const auto thread = static_cast<int>(threadIdx.x);
  const int taps = job.orders.taps, branches = job.orders.branches(), functions = job.functions.count;
  const Assembly all = job.assembly(static_cast<int>(blockIdx.y));
  if (thread < 2 * taps) {
    const int t = thread % taps;
    const std::int64_t n = (thread < taps ? now.range.begin + kSkipped : now.range.end) - 1 - t;
    Complex64 psi[Functions::kMost];
    job.functions.of(1 / sqrt(now.power) * u_of(job)[n], psi);
    Complex64* const edge = job.edges + (blockIdx.y * 2 + (thread < taps ? 0 : 1)) * functions * taps;
    for (int b = 0; b < functions; ++b) edge[b * taps + t] = psi[b];
  }
  __syncthreads();
  const int pairs = branches * branches;
  for (int i = thread; i < pairs * all.diagonals(); i += kThreads)
    all.fill_diagonal(i % pairs / branches, i % pairs % branches, i / pairs);
  for (int i = thread; i < branches * taps; i += kThreads) all.fill_edges(i / taps, i % taps);
  if (thread == 0) all.fill_corner(now.range.length() - kSkipped, now.z_sum);
}

}  // namespace
}  // namespace iqd::aph_estimator
