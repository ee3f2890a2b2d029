// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/packet_job.cuh"
#include "pipeline/stages/telemetry/equalizer/toeplitz.hpp"

/// Taps of zf and mmse: eight lanes solve a system as toeplitz_cpu.cpp does, with the same operations in the same
/// order, so the taps are bit-identical to the CPU's.
namespace iqd::equalizer {

constexpr int kSolverLanes = 8;
constexpr int kSolverThreads = 32;  // a thread block is one warp
constexpr int kSolvers = kSolverThreads / kSolverLanes;
constexpr int kColumn = static_cast<int>(kStride);
constexpr int kEach = kColumn / kSolverLanes;
constexpr int kSystem = static_cast<int>(kRows);

__device__ inline double of_first_lane(double x) {
  return __shfl_sync(kAllLanes, x, 0, kSolverLanes);
}
__device__ inline Complex64 of_first_lane(Complex64 x) {
  return {of_first_lane(x.re), of_first_lane(x.im)};
}

/// A vector along a column of the factor: a lane holds p = kEach lane … kEach lane + kEach - 1.
struct Places {
  Complex64 at[kEach];

  /// Moves what was at p + 1 to p.
  __device__ void shift(int lane, Complex64 last) {
    const Complex64 next{__shfl_down_sync(kAllLanes, at[0].re, 1, kSolverLanes),
                         __shfl_down_sync(kAllLanes, at[0].im, 1, kSolverLanes)};
#pragma unroll
    for (int q = 0; q + 1 < kEach; ++q) at[q] = at[q + 1];
    at[kEach - 1] = lane == kSolverLanes - 1 ? last : next;
  }
};

/// A system in progress.
struct System {
  Complex32* h;       // [38]
  Complex64* b;       // [kSystem + kColumn], zeros at the end
  Complex64* factor;  // [column][q][lane]
  int lane;

  __device__ Complex64 correlate(int k) const;
  __device__ Complex64 right(int i) const;
  __device__ void substitute_forward(double zf_load, double noise) const;
  __device__ void substitute_back() const;
};

/// r_h(k)
__device__ inline Complex64 System::correlate(int k) const {
  Complex64 sum{};
  for (int n = k; n < static_cast<int>(kBand); ++n) {
    const Complex64 x{h[n].re, h[n].im};
    const Complex64 y{h[n - k].re, h[n - k].im};
    sum.re += x.re * y.re + x.im * y.im;
    sum.im += x.im * y.re - x.re * y.im;
  }
  return sum;
}

/// g(i) = h*(60 - i); 0 behind i = 72
__device__ inline Complex64 System::right(int i) const {
  const int n = static_cast<int>(-kFirst - kChannelFirst) - i;
  return n >= 0 && n < static_cast<int>(kBand) ? Complex64{h[n].re, -h[n].im} : Complex64{};
}

/// Advances from one column of the factor to the next.
__device__ inline void advance(Places& u, Places& v, int lane) {
  const double diagonal = of_first_lane(u.at[0].re);
  const Complex64 first = of_first_lane(v.at[1]);
  v.shift(lane, {});
  const Complex64 k{first.re / diagonal, first.im / diagonal};
  const double w = 1 / sqrt(1 - (k.re * k.re + k.im * k.im));
#pragma unroll
  for (int q = 0; q < kEach; ++q) {
    const Complex64 a = u.at[q];
    const Complex64 b = v.at[q];
    u.at[q] = {(a.re - (k.re * b.re + k.im * b.im)) * w, (a.im - (k.re * b.im - k.im * b.re)) * w};
    v.at[q] = {(b.re - (k.re * a.re - k.im * a.im)) * w, (b.im - (k.re * a.im + k.im * a.re)) * w};
  }
}

/// b becomes the solution of L b = g; `factor` becomes L. The diagonal load is the largest of the two and the minimum.
__device__ inline void System::substitute_forward(double zf_load, double noise) const {
  Places u, v, rest;
#pragma unroll
  for (int q = 0; q < kEach; ++q) {
    u.at[q] = correlate(kEach * lane + q);
    rest.at[q] = right(kEach * lane + q);
  }
  const double energy = of_first_lane(u.at[0].re);
  if (lane == 0) u.at[0].re += fmax(fmax(zf_load * energy, noise), kLeastLoad * energy);
  const double scale = 1 / sqrt(of_first_lane(u.at[0].re));
#pragma unroll
  for (int q = 0; q < kEach; ++q) v.at[q] = u.at[q] = {u.at[q].re * scale, u.at[q].im * scale};
  for (int j = 0; j < kSystem; ++j) {
    if (j > 0) advance(u, v, lane);
    const double diagonal = of_first_lane(u.at[0].re);
    const Complex64 own = of_first_lane(rest.at[0]);
    const Complex64 x{own.re / diagonal, own.im / diagonal};
    if (lane == 0) b[j] = x;
#pragma unroll
    for (int q = 0; q < kEach; ++q) {
      const Complex64 l = u.at[q];
      Complex64& r = rest.at[q];
      factor[j * kColumn + q * kSolverLanes + lane] = l;
      r = {r.re - (l.re * x.re - l.im * x.im), r.im - (l.re * x.im + l.im * x.re)};
    }
    rest.shift(lane, right(j + kColumn));
  }
}

/// b becomes the solution of L^H c = b: each lane sums every eighth product of a column. Columns are prefetched early
/// enough to hide the memory latency.
__device__ inline void System::substitute_back() const {
  constexpr int kAhead = 3;
  static_assert(kSystem % kAhead == 0);
  Complex64 columns[kAhead][kEach];
  const auto fetch = [this](Complex64(&to)[kEach], int j) {
#pragma unroll
    for (int q = 0; q < kEach; ++q) {
      const int p = lane + kSolverLanes * q;
      if (j >= 0) to[q] = factor[j * kColumn + p % kEach * kSolverLanes + p / kEach];
    }
  };
#pragma unroll
  for (int a = 0; a < kAhead; ++a) fetch(columns[a], kSystem - 1 - a);
  for (int newest = kSystem - 1; newest >= 0; newest -= kAhead) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int j = newest - a;
      Complex64 sum{};
#pragma unroll
      for (int q = 0; q < kEach; ++q) {
        const Complex64 l = columns[a][q];
        const Complex64 x = q == 0 && lane == 0 ? Complex64{} : b[j + lane + kSolverLanes * q];
        sum.re += l.re * x.re + l.im * x.im;
        sum.im += l.re * x.im - l.im * x.re;
      }
#pragma unroll
      for (int half = kSolverLanes / 2; half > 0; half /= 2) {
        sum.re += __shfl_down_sync(kAllLanes, sum.re, half, kSolverLanes);
        sum.im += __shfl_down_sync(kAllLanes, sum.im, half, kSolverLanes);
      }
      const double diagonal = columns[a][0].re;
      if (lane == 0) b[j] = {(b[j].re - sum.re) / diagonal, (b[j].im - sum.im) / diagonal};
      __syncwarp();
      fetch(columns[a], j - kAhead);
    }
  }
}

__global__ void __launch_bounds__(kSolverThreads) solve_systems(const Job job) {
  __shared__ Complex32 channels[kSolvers][kBand];
  __shared__ Complex64 solutions[kSolvers][kSystem + kColumn];
  const int solver = static_cast<int>(threadIdx.x) / kSolverLanes;
  const int lane = static_cast<int>(threadIdx.x) % kSolverLanes;
  const std::int64_t place = std::int64_t{blockIdx.x} * kSolvers + solver;
  const System system{channels[solver], solutions[solver], job.factor + place * (kSystem * kColumn), lane};
  for (int i = lane; i < kColumn; i += kSolverLanes) system.b[kSystem + i] = {};
  const int each = job.solve_zf + job.solve_mmse;
  const int systems = count_packets(job) * each;
  for (int first = static_cast<int>(blockIdx.x) * kSolvers; first < systems;
       first += static_cast<int>(gridDim.x) * kSolvers) {
    // Without a system, or without a channel, lanes solve a dummy: the warp stays converged.
    const int i = min(first + solver, systems - 1);
    const int packet = i / each;
    const bool zf = job.solve_zf && i % each == 0;
    const float unit = unit_of<kSolverLanes>(job, packet);
    const bool there = unit > 0;
    for (int n = lane; n < kBand; n += kSolverLanes)
      system.h[n] = there ? scaled(load(job.channel + packet * kBand + n), unit) : Complex32{1, 0};
    __syncwarp();
    system.substitute_forward(zf ? job.zf_load : 0, zf || !there ? 0 : noise_of(job, packet, unit));
    __syncwarp();
    system.substitute_back();
    Complex32* const taps = job.taps_of(packet, zf ? Kind::zf : Kind::mmse);
    if (there && first + solver < systems)
      for (int k = lane; k < kSystem; k += kSolverLanes)
        taps[k] = {static_cast<float>(system.b[k].re), static_cast<float>(system.b[k].im)};
    __syncwarp();
  }
}

}  // namespace iqd::equalizer
