// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A thread block for each frame compares the pilots; one thread goes from frame to frame; a thread corrects a value.
#include <algorithm>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/ofdm/antenna_noise.hpp"
#include "pipeline/stages/ofdm/ofdm_clock/ofdm_clock.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::ofdm_clock {
namespace {

using dsp::product;

constexpr int kThreads = 256;
constexpr int kMostTx = static_cast<int>(OfdmFormat::kMostTx);

struct Complex64 {
  double re = 0, im = 0;

  __device__ void add_product_with_conjugate(float2 a, float2 b, double weight) {
    const double c = a.x, d = a.y, e = b.x, f = b.y;
    re += (c * e + d * f) * weight, im += (d * e - c * f) * weight;
  }
};

struct Job {
  Extents e;
  const float2* carriers;
  float2* out;
  float* clock;  // may be null
  const std::int32_t* found;
  std::int32_t* counts[2];
  const std::int32_t* odd;
  std::int32_t odd_carriers;
  const float2* weights;
  Complex64* pilots;  // [frame][symbol behind the training][pilot]
  Complex64* pairs;   // [frame][symbol behind the training]
  Fit* fits;          // [frame]
  double* errors;     // [frame]
  Memory* memory;     // null: frames are independent
  bool fresh;

  __device__ const float2* row(std::int64_t frame, int symbol) const {
    return carriers + frame * e.frame() + std::int64_t{symbol} * e.carriers * e.rx;
  }
};

__device__ double energy(float2 z) {
  return static_cast<double>(z.x) * z.x + static_cast<double>(z.y) * z.y;
}

/// The noise of one antenna, by all threads.
__device__ double noise_of(const Job& job, std::int64_t frame, int r, double* memory) {
  const Extents& e = job.e;
  const auto t = static_cast<int>(threadIdx.x);
  double alone = 0, training = 0;
  for (int i = t; i < job.odd_carriers; i += kThreads) alone += energy(job.row(frame, 0)[job.odd[i] * e.rx + r]);
  for (int i = t; i < e.tx * e.carriers; i += kThreads) training += energy(job.row(frame, 1)[i * e.rx + r]);
  alone = gpu::sum_of_group<kThreads>(alone, memory);
  training = gpu::sum_of_group<kThreads>(training, memory);
  return ofdm::noise_of(alone, job.odd_carriers, training, e.tx * e.carriers);
}

__device__ float2 turn_of(double turns) {
  double sine, cosine;
  sincospi(-2 * turns, &sine, &cosine);
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

/// One pilot of a symbol behind the training against what the training lets expect, without this error of the clock.
__device__ Complex64 compare_pilot(const Job& job, std::int64_t frame, int d, int i, double error,
                                   const double* noise) {
  const Extents& e = job.e;
  const int f = e.frequency(e.pilot(i));
  const std::int64_t at = std::int64_t{e.pilot(i)} * e.rx;
  const float2* const weights = job.weights + (std::int64_t{d} * e.pilots + i) * e.tx;
  float2 turned[kMostTx];
  for (int t = 0; t < e.tx; ++t) turned[t] = product(turn_of(e.turns(error, 1 + t, f)), weights[t]);
  Complex64 sum;
  for (int r = 0; r < e.rx; ++r) {
    float2 expected{0, 0};
    for (int t = 0; t < e.tx; ++t) {
      const float2 part = product(turned[t], job.row(frame, 1 + t)[at + r]);
      expected.x += part.x, expected.y += part.y;
    }
    if (noise[r] > 0) sum.add_product_with_conjugate(job.row(frame, 1 + e.tx + d)[at + r], expected, 1 / noise[r]);
  }
  double sine, cosine;
  sincospi(-2 * e.turns(error, 1 + e.tx + d, f), &sine, &cosine);
  return {sum.re * cosine - sum.im * sine, sum.re * sine + sum.im * cosine};
}

/// The sum of the pairs of a symbol, by a warp.
__device__ Complex64 sum_of_pairs(const Extents& e, int apart, const Complex64* pilots) {
  Complex64 pairs;
  for (int i = static_cast<int>(threadIdx.x) % gpu::kWarp; i + apart < e.pilots; i += gpu::kWarp) {
    const Complex64 a = pilots[i + apart], b = pilots[i];
    pairs.re += a.re * b.re + a.im * b.im, pairs.im += a.im * b.re - a.re * b.im;
  }
  return {gpu::sum_of_warp(pairs.re), gpu::sum_of_warp(pairs.im)};
}

__global__ void __launch_bounds__(kThreads) fit_frames(const Job job) {
  __shared__ double memory[kThreads / gpu::kWarp], noise[kMostAntennas], error;
  const Extents& e = job.e;
  const std::int64_t frame = blockIdx.x;
  if (frame >= *job.found) return;
  for (int r = 0; r < e.rx; ++r) {
    const double own = noise_of(job, frame, r, memory);
    if (threadIdx.x == 0) noise[r] = own;
  }
  if (threadIdx.x == 0) error = 0;
  const int symbols = e.behind(), warp = static_cast<int>(threadIdx.x) / gpu::kWarp;
  Complex64* const pilots = job.pilots + frame * symbols * e.pilots;
  Complex64* const pairs = job.pairs + frame * symbols;
  for (int round = 0; round < kRounds; ++round) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < symbols * e.pilots; i += kThreads)
      pilots[i] = compare_pilot(job, frame, i / e.pilots, i % e.pilots, error, noise);
    __syncthreads();
    for (int d = warp; d < symbols; d += kThreads / gpu::kWarp) {
      const Complex64 sum = sum_of_pairs(e, e.pairs(round).apart, pilots + d * e.pilots);
      if (threadIdx.x % gpu::kWarp == 0) pairs[d] = sum;
    }
    __syncthreads();
    if (threadIdx.x != 0) continue;
    Line line(e.tx);
    for (int d = 0; d < symbols; ++d) line.add(e.position(1 + e.tx + d), pairs[d].re, pairs[d].im);
    const Fit rest = line.fit(e.pairs(round).radians_per_symbol);
    error += rest.error;
    job.fits[frame] = {error, rest.variance};
  }
}

__global__ void find_errors(const Job job) {
  const std::int32_t found = *job.found;
  *job.counts[0] = *job.counts[1] = found;
  Memory memory;
  if (job.memory && !job.fresh) memory = *job.memory;
  for (std::int32_t f = 0; f < found; ++f) {
    const double error = clock_of(job.e, job.e.near.apart > 0 ? job.fits[f] : Fit{}, memory);
    job.errors[f] = error;
    if (job.clock) job.clock[f] = static_cast<float>(error * 1e6);
  }
  if (job.memory) *job.memory = memory;
}

__global__ void __launch_bounds__(kThreads) correct_carriers(const Job job) {
  const Extents& e = job.e;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x, frame = i / e.frame();
  if (frame >= *job.found) return;
  const double error = job.errors[frame];
  const float2 y = job.carriers[i];
  if (error == 0) {
    job.out[i] = y;
    return;
  }
  const auto c = static_cast<int>(i / e.rx % e.carriers), s = static_cast<int>(i % e.frame() / e.rx / e.carriers);
  const int f = e.frequency(c);
  float2 others{0, 0};
  if (fabs(error) >= kLeastForNeighbours)
    for (int m = kReach; m >= -kReach; --m) {
      const int g = f + m, k = g > 0 ? g - 1 + e.carriers / 2 : g + e.carriers / 2;
      if (m == 0 || g == 0 || k < 0 || k >= e.carriers) continue;
      const float2 z = job.carriers[i + std::int64_t{k - c} * e.rx];
      const float part = static_cast<float>(error * g) / static_cast<float>(m);
      others.x += part * z.x, others.y += part * z.y;
    }
  job.out[i] = product({y.x - others.x, y.y - others.y}, turn_of(e.turns(error, s, f)));
}

struct Room {
  const Extents& e;
  std::int64_t frames;
  Scratch scratch;
  Complex64* pilots = scratch.take<Complex64>(frames * e.behind() * e.pilots);
  Complex64* pairs = scratch.take<Complex64>(frames * e.behind());
  Fit* fits = scratch.take<Fit>(frames);
  double* errors = scratch.take<double>(frames);
};

class Run final : public StageRun {
 public:
  Run(const Design& design, std::int64_t most_frames)
      : e_(design.extents),
        most_(most_frames),
        odd_(design.odd),
        weights_(std::span(reinterpret_cast<const float2*>(design.weights.data()), design.weights.size())) {}

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{e_, most_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const Room room{e_, most_, Scratch(io.device_scratch)};
    const Job job{.e = e_,
                  .carriers = io.in[0].row<const float2>(),
                  .out = io.out[0].row<float2>(),
                  .clock = io.out[1].row<float>(),
                  .found = io.in[0].count,
                  .counts = {io.out[0].count, io.out[1].count},
                  .odd = odd_.data(),
                  .odd_carriers = static_cast<std::int32_t>(odd_.size()),
                  .weights = weights_.data(),
                  .pilots = room.pilots,
                  .pairs = room.pairs,
                  .fits = room.fits,
                  .errors = room.errors,
                  .memory = reinterpret_cast<Memory*>(io.carry),
                  .fresh = io.fresh};
    const std::int64_t frames = std::min(most_, io.in[0].length);
    if (frames > 0 && e_.near.apart > 0) fit_frames<<<static_cast<unsigned>(frames), kThreads, 0, stream>>>(job);
    find_errors<<<1, 1, 0, stream>>>(job);
    if (frames > 0) correct_carriers<<<gpu::groups_of(frames * e_.frame(), kThreads), kThreads, 0, stream>>>(job);
  }

 private:
  Extents e_;
  std::int64_t most_;
  gpu::DeviceArray<std::int32_t> odd_;
  gpu::DeviceArray<float2> weights_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ofdm_clock
