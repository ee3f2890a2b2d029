// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/ofdm_sync/job.cuh"

/// The third to the fifth kernel: evaluating the candidates' training symbols, choosing the frames, and the power
/// profiles of their channels.
namespace iqd::ofdm_sync {
namespace {

/// What all threads of a thread block need about one candidate.
struct Heard {
  Alike antennas[kMostAntennas];
  double fraction;
};
template <bool kRejectsTones> __device__ void hear_as(const Job& job, std::int64_t place, Heard& heard) {
  static_assert(kThreads >= kMostAntennas, "a thread of the smallest group for each antenna");
  const int t = static_cast<int>(threadIdx.x);
  if (t < job.grid.antennas) heard.antennas[t] = job.halves_of<kRejectsTones>(t, place);
  __syncthreads();
  if (t == 0) {
    Combined all;
    for (std::int64_t r = 0; r < job.grid.antennas; ++r) all.add(heard.antennas[r].c);
    heard.fraction = fraction_of(all.sum);
  }
  __syncthreads();
}

__device__ void hear(const Job& job, std::int64_t place, Heard& heard) {
  if (job.grid.rejects_tones())
    hear_as<true>(job, place, heard);
  else
    hear_as<false>(job, place, heard);
}

/// The spectrum that these threads transform: antenna and training symbol.
template <int N> __device__ std::int64_t spectrum_of() {
  return static_cast<std::int64_t>(blockIdx.y) * gpu::FftGroup<N>::kFrames + gpu::FftGroup<N>::frame();
}
/// Index of this thread's point e.
template <int N> __device__ int point_of(int e) {
  return gpu::FftGroup<N>::thread() + e * gpu::kFftThreads<N>;
}
template <int N> __device__ Complex32& shared_point(Complex32* shared, int n) {
  return shared[gpu::padded(gpu::FftGroup<N>::frame() * N + (n & (N - 1)))];
}

/// The transforms of training symbols, in shared memory and in order of frequency; the fraction of the offset is
/// removed, and all antennas have one level.
template <int N, class Sample>
__device__ void transform_training(const Job& job, std::int64_t place, const Heard& heard, Complex32* shared) {
  using Group = gpu::FftGroup<N>;
  const std::int64_t spectrum = spectrum_of<N>();
  Complex32 v[Group::kPoints] = {};
  if (spectrum < job.spectra()) {
    const std::int64_t r = spectrum / job.grid.tx;
    const std::int64_t first = job.grid.training_at(job.at(place), spectrum % job.grid.tx);
    const float energy = heard.antennas[r].energy;
    const float scale = energy > 0 ? 1 / sqrtf(energy) : 0;
    const auto step = static_cast<std::uint64_t>(llrint(-heard.fraction / N * 0x1p63)) << 1;
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) {
      const int n = point_of<N>(e);
      const Complex x = sample_at<Sample>(job, r, first + n);
      const Complex turned = product({scale * x.re, scale * x.im}, quick_phasor(step * static_cast<std::uint64_t>(n)));
      v[e] = {turned.re, turned.im};
    }
  }
  gpu::fft_steps<N>(v, shared, job.factors);
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) shared_point<N>(shared, point_of<N>(e)) = v[e];
  __syncthreads();
}

/// Thread blocks by cells and spectra: how well each hypothesis fits.
template <int N, class Sample> __global__ void __launch_bounds__(gpu::FftGroup<N>::kThreads)
    fit_candidates(const Job job) {
  using Group = gpu::FftGroup<N>;
  extern __shared__ Complex32 shared[];
  __shared__ Heard heard;
  const std::int64_t place = job.cells[blockIdx.x].place;
  if (place < 0) return;
  hear(job, place, heard);
  transform_training<N, Sample>(job, place, heard, shared);
  Complex phases[Group::kPoints];
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) {
    const Complex32 here = shared_point<N>(shared, point_of<N>(e));
    const Complex32 next = shared_point<N>(shared, point_of<N>(e) + 1);
    phases[e] = phase_between({here.re, here.im}, {next.re, next.im});
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) shared_point<N>(shared, point_of<N>(e)) = {phases[e].re, phases[e].im};
  __syncthreads();
  const int hypotheses = static_cast<int>(job.grid.hypotheses());
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int task = static_cast<int>(threadIdx.x) / 32; task < Group::kFrames * hypotheses;
       task += Group::kThreads / 32) {
    const int frame = task / hypotheses, h = task % hypotheses;
    const std::int64_t spectrum = static_cast<std::int64_t>(blockIdx.y) * Group::kFrames + frame;
    if (spectrum >= job.spectra()) break;
    const int moved = 2 * (h - static_cast<int>(job.grid.sides));
    Complex sum;
    for (int k = lane; k < N; k += 32) {
      const Complex32 phase = shared[gpu::padded(frame * N + ((k + moved) & (N - 1)))];
      const float pair = __ldg(job.pairs + k);
      sum.re += pair * phase.re;
      sum.im += pair * phase.im;
    }
    sum = {sum_of_warp(sum.re), sum_of_warp(sum.im)};
    if (lane == 0) job.fits[(blockIdx.x * job.spectra() + spectrum) * hypotheses + h] = sum;
  }
}

constexpr int kChoosers = 1024;

/// One warp: finds the hypothesis that fits best, and decides whether that is enough.
__device__ void judge(const Job& job, std::int64_t k) {
  Cell& cell = job.cells[k];
  if (cell.place < 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Largest best{-1, 0};
  for (int h = lane; h < job.grid.hypotheses(); h += 32) {
    Combined all;
    for (std::int64_t r = 0; r < job.grid.antennas; ++r) all.add(job.fit_of(k, r, h));
    if (all.value() > best.value) best = {all.value(), h};
  }
  best = largest_of_warp(best);
  if (lane > 0) return;
  cell.fit = job.grid.convinces(cell.metric, best.value) ? best.value : 0;
  cell.moved = best.index - static_cast<int>(job.grid.sides);
}

/// Within half a frame; of equal ones the first.
__device__ bool is_largest(const Job& job, std::int64_t k) {
  const Cell own = job.cells[k];
  if (own.place < 0 || !(own.fit > 0)) return false;
  const std::int64_t around = job.half_cells;
  const std::int64_t end = min(k + around + 1, job.cell_count);
  for (std::int64_t i = max(k - around, std::int64_t{0}); i < end; ++i) {
    const Cell other = job.cells[i];
    const std::int64_t apart = other.place > own.place ? other.place - own.place : own.place - other.place;
    if (i == k || other.place < 0 || apart > job.grid.half) continue;
    if (other.fit > own.fit || (other.fit == own.fit && i < k)) return false;
  }
  return true;
}

/// A single thread block: lists the frames that may start within the block, in order.
__global__ void __launch_bounds__(kChoosers) choose_frames(const Job job) {
  __shared__ int before[kChoosers / 32];
  const int t = static_cast<int>(threadIdx.x);
  for (std::int64_t k = t / 32; k < job.cell_count; k += kChoosers / 32) judge(job, k);
  __syncthreads();
  int count = 0;
  for (std::int64_t first = 0; first < job.cell_count; first += kChoosers) {
    const std::int64_t k = first + t;
    const bool frame =
        k < job.cell_count && is_largest(job, k) && job.grid.asked(job.fresh).has(job.at(job.cells[k].place));
    const unsigned ballot = __ballot_sync(kAll, frame);
    if (t % 32 == 0) before[t / 32] = __popc(ballot);
    __syncthreads();
    int index = count + __popc(ballot & ((1u << t % 32) - 1));
    for (int w = 0; w < kChoosers / 32; ++w) {
      if (w < t / 32) index += before[w];
      count += before[w];
    }
    if (frame) job.chosen[index] = {k, job.cells[k].place, job.cells[k].metric, job.cells[k].moved};
    __syncthreads();
  }
  if (t == 0) *job.chosen_count = count;
}

/// Thread blocks by frames and spectra: the power at each delay.
template <int N, class Sample> __global__ void __launch_bounds__(gpu::FftGroup<N>::kThreads)
    make_profiles(const Job job) {
  using Group = gpu::FftGroup<N>;
  extern __shared__ Complex32 shared[];
  __shared__ Heard heard;
  if (static_cast<int>(blockIdx.x) >= *job.chosen_count) return;
  const Chosen chosen = job.chosen[blockIdx.x];
  hear(job, chosen.place, heard);
  transform_training<N, Sample>(job, chosen.place, heard, shared);
  // With real and imaginary parts swapped, a forward transform is an inverse one.
  Complex32 v[Group::kPoints];
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) {
    const Complex32 carrier = shared_point<N>(shared, point_of<N>(e) + 2 * chosen.moved);
    const Complex y = limited({carrier.re, carrier.im}, job.grid.most_power);
    const float sign = __ldg(job.training + point_of<N>(e));
    v[e] = {sign * y.im, sign * y.re};
  }
  __syncthreads();
  gpu::fft_steps<N>(v, shared, job.factors);
  const std::int64_t spectrum = spectrum_of<N>();
  if (spectrum >= job.spectra()) return;
  float* const profile = job.profiles + (blockIdx.x * job.spectra() + spectrum) * N;
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) profile[point_of<N>(e)] = v[e].re * v[e].re + v[e].im * v[e].im;
}

}  // namespace
}  // namespace iqd::ofdm_sync
