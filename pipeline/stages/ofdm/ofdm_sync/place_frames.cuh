// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/ofdm_sync/ask_training.cuh"

/// The sixth and the seventh kernel: start and offset of each frame, and copying the frames.
namespace iqd::ofdm_sync {
namespace {

constexpr int kMeasurers = 1024;
constexpr int kMeasuringWarps = kMeasurers / 32;
constexpr int kWarpsEach = kPrefixParts / 32;                  // of an antenna
constexpr int kMeasuredAtOnce = kMeasuringWarps / kWarpsEach;  // antennas

/// Over a thread block; all threads call it, and all get the result.
__device__ Largest largest_of_group(Largest own) {
  __shared__ Largest shared[kMeasuringWarps];
  own = largest_of_warp(own);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  return largest_of_warp(shared[threadIdx.x % 32]);
}
__device__ float sum_of_group(float own) {
  __shared__ float shared[kMeasuringWarps];
  own = sum_of_warp(own);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  return sum_of_warp(shared[threadIdx.x % 32]);
}

/// The profile over all antennas, each weighted by how well it fits.
__device__ void add_profiles(const Job& job, const Chosen& chosen, float* power) {
  __shared__ float weights[kMostAntennas];
  const int t = static_cast<int>(threadIdx.x);
  if (t < job.grid.antennas) {
    const Complex fit = job.fit_of(chosen.cell, t, chosen.moved + job.grid.sides);
    weights[t] = fit.re * fit.re + fit.im * fit.im;
  }
  __syncthreads();
  const float* const profiles = job.profiles + blockIdx.x * job.spectra() * job.grid.fft;
  for (std::int64_t d = t; d < job.grid.fft; d += kMeasurers) {
    float sum = 0;
#pragma unroll 4
    for (std::int64_t s = 0; s < job.spectra(); ++s) sum += weights[s / job.grid.tx] * profiles[s * job.grid.fft + d];
    power[d] = sum;
  }
  __syncthreads();
}

/// The delay of the path that begins the prefix-long window with the most power.
__device__ std::int64_t first_path(const Job& job, const float* power) {
  const Grid& grid = job.grid;
  const Profile profile{power, grid.fft, grid.prefix, grid.width};
  const int t = static_cast<int>(threadIdx.x);
  Largest own{-1, 0};
  for (int i = t; i < grid.fft; i += kMeasurers) {
    const float here = profile.at(profile.first_delay() + i);
    if (here > own.value) own = {here, i};
  }
  own = largest_of_group(own);
  const std::int64_t strongest = profile.first_delay() + own.index;
  float noise = 0;
  for (std::int64_t d = grid.fft / 4 + t; d < 3 * grid.fft / 4; d += kMeasurers) noise += profile.at(strongest + d);
  const float least = least_path(own.value, sum_of_group(noise) / static_cast<float>(grid.fft / 2));
  Largest best{-1, static_cast<int>(grid.prefix)};
  for (int i = t; i <= grid.prefix; i += kMeasurers) {
    const float here = power_from(profile, strongest - grid.prefix + i, least);
    if (here > best.value) best = {here, i};
  }
  best = largest_of_group(best);
  return best.value < 0 ? strongest : strongest - grid.prefix + best.index;
}

/// Over all antennas: whole steps, and the samples that remain at both ends.
template <class Sample> __device__ float energy_of(const Job& job, std::int64_t start) {
  const Grid& grid = job.grid;
  const std::int64_t lead = *job.lead, end = start + grid.frame;
  const std::int64_t first = ceil_div(start - lead, grid.step), last = floor_div(end - lead, grid.step);
  const std::int64_t before = lead + first * grid.step - start;
  const std::int64_t behind = end - (lead + last * grid.step);
  float energy = 0;
  for (std::int64_t b = first + threadIdx.x; b < last; b += kMeasurers)
#pragma unroll 4
    for (std::int64_t r = 0; r < grid.antennas; ++r) energy += job.part(r, 2)[b];
  for (std::int64_t i = threadIdx.x; i < before + behind; i += kMeasurers)
#pragma unroll 4
    for (std::int64_t r = 0; r < grid.antennas; ++r) {
      const Complex x = sample_at<Sample>(job, r, i < before ? start + i : end - behind + (i - before));
      energy += x.re * x.re + x.im * x.im;
    }
  return sum_of_group(energy);
}

/// The samples place(0) … place(count - 1) and those fft later, of antennas first, first + 1, …; four warps an antenna.
/// Returned to a thread for each of them; all threads call it.
template <class Sample, class Place>
__device__ Stretches stretches_of(const Job& job, std::int64_t first, std::int64_t count, const Place& place) {
  __shared__ Stretches shared[kMeasuringWarps];
  const Grid& grid = job.grid;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t r = first + warp / kWarpsEach;
  Stretches own;
  if (r < grid.antennas) {
#pragma unroll 4
    for (std::int64_t i = warp % kWarpsEach * 32 + lane; i < count; i += kPrefixParts) {
      const std::int64_t n = place(i);
      own.add(sample_at<Sample>(job, r, n), sample_at<Sample>(job, r, n + grid.fft));
    }
  }
  for (float* const part :
       {&own.product.re, &own.product.im, &own.energy, &own.first.re, &own.first.im, &own.second.re, &own.second.im})
    *part = sum_of_warp(*part);
  if (lane == 0) shared[warp] = own;
  __syncthreads();
  Stretches all;
  if (static_cast<int>(threadIdx.x) < kMeasuredAtOnce) {
    all = shared[threadIdx.x * kWarpsEach];
    for (int w = 1; w < kWarpsEach; ++w) all.add(shared[threadIdx.x * kWarpsEach + w]);
  }
  __syncthreads();
  return all;
}

/// The similarity of the prefixes' repetitions for antennas first, first + 1, …
template <class Sample, bool kRejectsTones>
__device__ void add_prefixes(const Job& job, std::int64_t start, std::int64_t first, Complex* likeness) {
  const Grid& grid = job.grid;
  const std::int64_t count = grid.symbols * grid.prefix;
  const bool own = static_cast<int>(threadIdx.x) < kMeasuredAtOnce && first + threadIdx.x < grid.antennas;
  const Stretches prefixes =
      stretches_of<Sample>(job, first, count, [&](std::int64_t i) { return start + grid.repeated_at(i); });
  if constexpr (kRejectsTones) {
    const std::int64_t all = grid.frame - grid.fft;
    const Stretches whole = stretches_of<Sample>(job, first, all, [&](std::int64_t i) { return start + i; });
    if (own)
      likeness[first + threadIdx.x] =
          alike_beside_tones(prefixes, static_cast<float>(count), whole, static_cast<float>(all));
  } else {
    if (own) likeness[first + threadIdx.x] = alike(prefixes, 1 / static_cast<float>(count)).c;
  }
  __syncthreads();
}

/// One thread block per frame.
template <class Sample, bool kRejectsTones> __global__ void __launch_bounds__(kMeasurers)
    measure_frames(const Job job) {
  extern __shared__ float power[];
  __shared__ Heard heard;
  __shared__ Complex prefixes[kMostAntennas];
  if (static_cast<int>(blockIdx.x) >= *job.chosen_count) return;
  const Grid& grid = job.grid;
  const Chosen chosen = job.chosen[blockIdx.x];
  const std::int64_t at = job.at(chosen.place);
  add_profiles(job, chosen, power);
  Measured m{grid.settled(at - grid.prefix + first_path(job, power)), 0, chosen.metric, 0, 0, 0};
  const bool own = job.fresh.has(m.start < 0 ? at : m.start);
  m.cut = own && (m.start < 0 || m.start + grid.frame > job.length);
  m.whole = own && !m.cut;
  if (m.whole) {
    const float energy = energy_of<Sample>(job, m.start);
    m.fit = energy >= kLeastEnergy && energy <= kMostEnergy;
  }
  if (m.fit) {
    hear_as<kRejectsTones>(job, chosen.place, heard);
    for (std::int64_t r = 0; r < grid.antennas; r += kMeasuredAtOnce)
      add_prefixes<Sample, kRejectsTones>(job, m.start, r, prefixes);
  }
  if (threadIdx.x > 0) return;
  if (m.fit) {
    Combined halves, repeated;
    for (std::int64_t r = 0; r < grid.antennas; ++r) {
      halves.add(heard.antennas[r].c);
      repeated.add(heard.antennas[r].c, prefixes[r]);
    }
    const double offset = refined_offset(grid, heard.fraction + 2.0 * chosen.moved, halves, repeated);
    m.offset_hz = static_cast<float>(offset * grid.rate_hz / static_cast<double>(grid.fft));
  }
  job.measured[blockIdx.x] = m;
}

/// Called by one thread block.
__device__ void write_counts(const Job& job, int chosen) {
  int whole = 0, fit = 0, cut = 0, crowded = 0;
  for (int first = 0; first < chosen; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    Measured own{};
    if (i < chosen) own = job.measured[i];
    whole += __syncthreads_count(own.whole);
    cut += __syncthreads_count(own.cut);
    fit += __syncthreads_count(own.fit);
  }
  const auto given = static_cast<int>(min(static_cast<std::int64_t>(fit), job.frames.most));
  for (int i = 0, found = 0; fit >= job.frames.most && i < chosen; ++i) {
    if (found >= job.frames.most) crowded += job.measured[i].whole;
    found += job.measured[i].fit;
  }
  if (threadIdx.x > 0) return;
  *job.frames.count = *job.start.count = *job.offset_hz.count = *job.metric.count = given;
  *job.events.count = 1;
  job.events[kFound] = given;
  job.events[kCut] = cut;
  job.events[kNotFinite] = whole - given - crowded;
  job.events[kCrowded] = crowded;
}

/// Thread blocks by frames, their parts, and antennas.
template <class Sample> __global__ void __launch_bounds__(kThreads) place_frames(const Job job) {
  const Grid& grid = job.grid;
  const int chosen = *job.chosen_count;
  if (blockIdx.x == 0 && blockIdx.y == 0) write_counts(job, chosen);
  const auto tiles = static_cast<unsigned>((grid.given() + kTile - 1) / kTile);
  const auto index = static_cast<int>(blockIdx.x / tiles);
  if (index >= chosen) return;
  const Measured own = job.measured[index];
  if (!own.fit) return;
  std::int64_t to = 0;
  for (int first = 0; first < index; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    to += __syncthreads_count(i < index && job.measured[i].fit);
  }
  if (to >= job.frames.most) return;
  const std::int64_t r = blockIdx.y;
  const std::int64_t first = blockIdx.x % tiles * std::int64_t{kTile};
  const std::uint64_t step = turns_against(own.offset_hz, grid.rate_hz);
  float2* const frame = job.frames.data + (to * grid.antennas + r) * grid.given();
  const std::int64_t end = min(first + kTile, grid.given());
#pragma unroll 8
  for (std::int64_t m = first + threadIdx.x; m < end; m += kThreads) {
    const Complex x = sample_at<Sample>(job, r, own.start + m);  // the tail may not exist
    const Complex y = product(x, quick_phasor(step * static_cast<std::uint64_t>(m)));
    frame[m] = {y.re, y.im};
  }
  if (first > 0 || r > 0 || threadIdx.x > 0) return;
  job.start[to] = job.first() + own.start;
  job.offset_hz[to] = own.offset_hz;
  job.metric[to] = own.metric;
}

}  // namespace
}  // namespace iqd::ofdm_sync
