// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/mimo_channel_estimator/job.cuh"

/// The channel of a frame, and the vectors of its data.
namespace iqd::mimo_channel_estimator {
namespace {

/// Least squares at a single carrier.
__device__ float2 estimate_roughly(const Job& job, const Fit& fit, const float2* training, int c, int pair) {
  const Extents& e = job.e;
  if (c >= e.carriers) return {0, 0};
  const int r = pair / e.tx;
  const float2* const uncover = fit.uncover + pair % e.tx * e.tx;
  float2 sum{0, 0};
  for (int t = 0; t < e.tx; ++t)
    sum = sum_of(sum, product(uncover[t], __ldg(training + std::int64_t{t} * e.row() + c * e.rx + r)));
  return product(sum, job.known.known[c]);
}

/// One thread block per tile of carriers of a frame: the channel at them.
__global__ void __launch_bounds__(kFilterThreads) estimate_channel(const Job job) {
  extern __shared__ float2 rough[];
  __shared__ Fit fit;
  const Extents& e = job.e;
  const auto tiles = static_cast<unsigned>((e.carriers + kTile - 1) / kTile);
  const std::int64_t frame = blockIdx.x / tiles;
  if (frame >= *job.found) return;
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < kMostAntennas * kMostAntennas) fit.uncover[thread] = job.fits[frame].uncover[thread];
  if (thread < kMostAntennas) fit.scale[thread] = job.fits[frame].scale[thread];
  if (thread == 0) fit.usable = job.fits[frame].usable;
  __syncthreads();
  const int begin = static_cast<int>(blockIdx.x % tiles) * kTile;
  const int end = min(begin + kTile, e.carriers);
  const int base = job.known.first[begin];
  const int rows = fit.usable ? job.known.first[end - 1] + kTaps - base : 0;
  const float2* const training = job.carriers + (frame * e.symbols + 1) * e.row();
  for (int i = thread; i < rows * e.pairs(); i += kFilterThreads)
    rough[i] = estimate_roughly(job, fit, training, base + i / e.pairs(), i % e.pairs());
  __syncthreads();
  for (int i = thread; i < (end - begin) * e.pairs(); i += kFilterThreads) {
    const int c = begin + i / e.pairs(), pair = i % e.pairs();
    const float* const taps = job.known.taps + c * kTaps;
    const float2* const from = rough + (job.known.first[c] - base) * e.pairs() + pair;
    float2 sum{0, 0};
    if (fit.usable) {
#pragma unroll 8
      for (int k = 0; k < kTaps; ++k) sum = sum_of(sum, product(from[k * e.pairs()], __ldg(taps + k)));
    }
    const int place = job.known.place[c];
    float2* const to = place >= 0 ? job.h + (frame * e.data_carriers() + place) * e.pairs()
                                  : job.pilot_h + (frame * e.pilots + (-1 - place)) * e.pairs();
    to[pair] = fit.usable ? product(sum, product(job.known.ramp[c], fit.scale[pair / e.tx])) : float2{NAN, NAN};
  }
}

/// Correlates the pilots of symbol s behind the training with what the channel predicts for them.
__device__ Sum follow_pilots(const Job& job, std::int64_t frame, const float2* y, float scale, int s,
                             const Share& share) {
  const Extents& e = job.e;
  Sum sum;
  for (int i = share.item; i < e.pilots; i += share.step) {
    const float* const signs = job.known.pilot_signs + (static_cast<std::int64_t>(s) * e.pilots + i) * e.tx;
    const float2* const h = job.pilot_h + (frame * e.pilots + i) * e.pairs() + share.antenna * e.tx;
    float2 expected{0, 0};
    for (int a = 0; a < e.tx; ++a) expected = sum_of(expected, product(h[a], signs[a]));
    sum.add(wide(expected), wide(product(y[job.known.pilot[i] * e.rx + share.antenna], scale)));
  }
  return sum;
}

/// The factor that rotates a data symbol's phase to the channel's; writes that phase.
__device__ float2 turn_back(const Sum* sums, int rx, float* phase) {
  Sum sum;
  for (int r = 0; r < rx; ++r) sum.re += sums[r].re, sum.im += sums[r].im;
  if (phase) *phase = static_cast<float>(atan2(sum.im, sum.re));
  const double size = sqrt(sum.re * sum.re + sum.im * sum.im);
  if (!(size > 0)) return {1, 0};
  return {static_cast<float>(sum.re / size), static_cast<float>(-sum.im / size)};
}

/// One thread block per data symbol: removes its phase, and scales and moves its data.
__global__ void __launch_bounds__(kThreads) write_vectors(const Job job) {
  __shared__ Sum sums[kThreads];
  __shared__ float2 back;
  __shared__ float2 factor[kMostAntennas];
  const Extents& e = job.e;
  const std::int64_t frame = blockIdx.x / static_cast<unsigned>(e.data_symbols());
  if (frame >= *job.found) return;
  const auto d = static_cast<int>(blockIdx.x % static_cast<unsigned>(e.data_symbols()));
  const int s = e.comb().data(d);
  const float2* const y = job.carriers + (frame * e.symbols + 1 + e.tx + s) * e.row();
  const bool usable = job.fits[frame].usable;
  const Share share(e.rx);
  const float scale = job.fits[frame].scale[share.antenna];
  Sum mine;
  if (usable && e.track_phase && share.takes_part()) mine = follow_pilots(job, frame, y, scale, s, share);
  add_up(share, e.rx, mine, sums);
  if (threadIdx.x == 0) {
    back = turn_back(sums, e.rx, job.phase ? job.phase + blockIdx.x : nullptr);
    if (job.phase && !usable) job.phase[blockIdx.x] = NAN;
  }
  __syncthreads();
  if (share.item == 0) factor[share.antenna] = usable ? product(back, scale) : float2{NAN, NAN};
  __syncthreads();
  float2* const to = job.y + (frame * e.data_carriers() * e.data_symbols() + d) * e.rx;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < e.data_carriers() * e.rx; i += kThreads) {
    const int place = i / e.rx, r = i % e.rx;
    const float2 v = __ldg(y + job.known.data[place] * e.rx + r);
    to[std::int64_t{place} * e.data_symbols() * e.rx + r] = product(v, factor[r]);
  }
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
