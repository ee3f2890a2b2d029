// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/items.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/job.cuh"

/// Noise and phase of a frame, before its channel is known.
namespace iqd::mimo_channel_estimator {
namespace {

/// The energy of the carriers in a list, or of all.
__device__ Sum energy_of(const float2* y, const std::int32_t* list, int carriers, int rx, const Share& share) {
  Sum sum;
  for (int i = share.item; i < carriers; i += share.step) {
    const Sum z = wide(y[(list ? list[i] : i) * rx + share.antenna]);
    sum.re += z.re * z.re + z.im * z.im;
  }
  return sum;
}

/// Correlates the pilots of symbol s behind the training with what the training symbols predict for them.
__device__ Sum compare_pilots(const Job& job, const float2* training, const float2* y, int s, const Share& share) {
  const Extents& e = job.e;
  Sum sum;
  for (int i = share.item; i < e.pilots; i += share.step) {
    const int at = job.known.pilot[i] * e.rx + share.antenna;
    const float2* const weights = job.known.pilot_weights + (static_cast<std::int64_t>(s) * e.pilots + i) * e.tx;
    float2 expected{0, 0};
    for (int t = 0; t < e.tx; ++t)
      expected = sum_of(expected, product(weights[t], training[std::int64_t{t} * e.row() + at]));
    sum.add(wide(expected), wide(y[at]));
  }
  return sum;
}

/// One thread block per symbol: checks for NaN and infinity, and computes the sums for noise and phase.
__global__ void __launch_bounds__(kThreads) measure_symbols(const Job job) {
  __shared__ Sum sums[kThreads];
  const std::int32_t found = dsp::read_once(job.found_at);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *job.found = found;
    for (std::int32_t* const count : job.counts) *count = found;
    for (std::int32_t* const count : job.empty) *count = 0;
  }
  const Extents& e = job.e;
  const std::int64_t frame = blockIdx.x / static_cast<unsigned>(e.symbols);
  const auto s = static_cast<int>(blockIdx.x % static_cast<unsigned>(e.symbols));
  if (frame >= found) return;
  const float2* const first = job.carriers + frame * e.symbols * e.row();
  const float2* const y = first + std::int64_t{s} * e.row();
  bool spoilt = false;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < e.row(); i += kThreads) spoilt |= !is_finite(__ldcg(y + i));
  spoilt = __syncthreads_or(spoilt) != 0;
  const Share share(e.rx);
  Sum mine;
  if (share.takes_part() && s == 0) mine = energy_of(y, job.known.odd, job.known.odd_carriers, e.rx, share);
  if (share.takes_part() && s > 0 && s <= e.tx) mine = energy_of(y, nullptr, e.carriers, e.rx, share);
  if (share.takes_part() && s > e.tx && e.track_phase)
    mine = compare_pilots(job, first + e.row(), y, s - 1 - e.tx, share);
  add_up(share, e.rx, mine, sums);
  if (threadIdx.x == 0) job.spoilt[blockIdx.x] = spoilt;
  if (threadIdx.x < static_cast<unsigned>(e.rx))
    job.sums[static_cast<std::int64_t>(blockIdx.x) * kMostAntennas + threadIdx.x] = sums[threadIdx.x];
}

/// The phase of symbol s behind the training, all antennas weighted by their noise.
__device__ double phase_of(const Job& job, const Sum* sums, const double* noise, int s) {
  Sum total;
  for (int r = 0; r < job.e.rx; ++r) {
    const Sum sum = sums[(1 + job.e.tx + s) * kMostAntennas + r];
    if (noise[r] > 0) total.re += sum.re / noise[r], total.im += sum.im / noise[r];
  }
  return atan2(total.im, total.re);
}

/// The phase's advance from symbol to symbol, returned to thread 0; `phases` is its memory.
__device__ double slope_of(const Job& job, const Sum* sums, const double* noise, double (&phases)[kFitThreads]) {
  PhaseSlope slope;
  const int symbols = job.e.track_phase ? job.e.behind() : 0;
  for (int first = 0; first < symbols; first += kFitThreads) {
    const int here = min(symbols - first, kFitThreads);
    const auto t = static_cast<int>(threadIdx.x);
    if (t < here) phases[t] = phase_of(job, sums, noise, first + t);
    __syncthreads();
    for (int s = 0; t == 0 && s < here; ++s) slope.add(phases[s], position_behind(first + s, job.e.tx));
    __syncthreads();
  }
  return slope.slope();
}

/// The noise of each antenna for all groups of carriers, or NaN.
__device__ void write_covariance(const Job& job, std::int64_t frame, const double* noise) {
  if (!job.covariance) return;
  const int rx = job.e.rx, all = job.e.groups() * rx * rx;
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kFitThreads) {
    const int r = i / rx % rx;
    const float own = noise && r == i % rx ? static_cast<float>(noise[r]) : 0.0f;
    job.covariance[frame * all + i] = noise ? float2{own, 0} : float2{NAN, NAN};
  }
}

/// One thread block per frame: noise, the antennas' scale, and the training symbols' phase.
__global__ void __launch_bounds__(kFitThreads) fit_frames(const Job job) {
  __shared__ double noise[kMostAntennas];
  __shared__ double phases[kFitThreads];
  __shared__ double mean, slope;
  const std::int64_t frame = blockIdx.x;
  if (frame >= *job.found) return;
  const Extents& e = job.e;
  const auto thread = static_cast<int>(threadIdx.x);
  const Sum* const sums = job.sums + frame * e.symbols * kMostAntennas;
  Fit& fit = job.fits[frame];
  bool spoilt = false;
  for (int s = thread; s < e.symbols; s += kFitThreads) spoilt |= job.spoilt[frame * e.symbols + s] != 0;
  spoilt = __syncthreads_or(spoilt) != 0;
  if (thread == 0) fit.usable = !spoilt;
  if (spoilt) {
    if (thread == 0) job.noise[frame] = job.level[frame] = NAN;
    write_covariance(job, frame, nullptr);
    return;
  }
  if (thread < e.rx) {
    double sent = 0;
    for (int t = 0; t < e.tx; ++t) sent += sums[(1 + t) * kMostAntennas + thread].re;
    noise[thread] = noise_of(sums[thread].re, job.known.odd_carriers, sent, e.tx * e.carriers);
  }
  __syncthreads();
  const double found_slope = slope_of(job, sums, noise, phases);
  if (thread == 0) {
    slope = found_slope;
    mean = 0;
    for (int r = 0; r < e.rx; ++r) mean += noise[r] / e.rx;
    job.noise[frame] = job.level[frame] = told(mean);
  }
  __syncthreads();
  write_covariance(job, frame, noise);
  if (thread < e.rx) fit.scale[thread] = scale_of(mean, noise[thread]);
  if (thread < e.tx * e.tx) {
    const double angle = -slope * training_position(thread % e.tx, e.tx);
    fit.uncover[thread] =
        product(job.known.uncover[thread], float2{static_cast<float>(cos(angle)), static_cast<float>(sin(angle))});
  }
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
