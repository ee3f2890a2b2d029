// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/equalizer/overlap.hpp"
#include "pipeline/stages/telemetry/equalizer/packet_job.cuh"

/// Taps of cma, starting from mmse's: a thread block handles a packet, and each of its teams one block of it at a time.
/// The blocks' spectra stay in shared memory (or scratch) over the iterations, so global memory is read once.
namespace iqd::equalizer {

constexpr int kTeams = 4;
constexpr int kTeam = gpu::kFftThreads<kBlock>;
constexpr int kDescendThreads = kTeams * kTeam;
constexpr int kPoints = gpu::kFftPoints<kBlock>;
constexpr int kTeamPlaces = kParts * kPartStride;  // through which a team exchanges points
static_assert(kTeamPlaces >= gpu::padded(kBlock) && kPartStride >= gpu::padded(kPartSize));
static_assert(kParts * gpu::kFftThreads<kPartSize> == kTeam);

struct DescendMemory {
  Complex32 exchange[kTeams][kTeamPlaces];
  Complex32 response[kTeamPlaces];  // C, at bin_place(k)
  Complex32 taps[kTaps];
  float places[kDescendThreads];
};

/// The sum over the thread block, the same for all threads and always in the same order. Each thread has a place.
__device__ inline float sum_of_group(float x, float* places) {
  __syncthreads();
  places[threadIdx.x] = x;
  __syncthreads();
  float sum = 0;
  for (unsigned i = threadIdx.x % 32; i < blockDim.x; i += 32) sum += places[i];
  return gpu::sum_of_warp(sum);
}

class PacketDescent {
 public:
  __device__ PacketDescent(const Job& job, DescendMemory& memory, Complex32* spectra)
      : job_(job),
        memory_(memory),
        spectra_(spectra),
        team_(static_cast<int>(threadIdx.x) / kTeam),
        t_(static_cast<int>(threadIdx.x) % kTeam),
        blocks_(count_blocks(job.samples)) {}

  /// Called by all threads of the thread block.
  __device__ void run(int packet, float unit) {
    const Complex32* const start = job_.taps_of(packet, Kind::mmse);
    const int i = static_cast<int>(threadIdx.x);
    const bool mine = i < kTaps;  // this thread has a tap
    const Complex32 first = mine ? start[i] : Complex32{};
    if (mine) memory_.taps[i] = first;
    const float energy = sum_of_group(receive(packet, unit), memory_.places);
    const float step = job_.step / (energy / static_cast<float>(job_.samples)) / kBlock;
    for (int iteration = 0; iteration < job_.iterations; ++iteration) iterate(step);
    const Complex32 last = mine ? memory_.taps[i] : Complex32{};
    const float before = sum_of_group(square(first), memory_.places);
    const float now = sum_of_group(square(last), memory_.places);
    const bool good = now <= kMostGrowth * before;  // false if NaN
    if (mine) job_.taps_of(packet, Kind::cma)[i] = good ? last : first;
  }

 private:
  /// A barrier for each team. The barrier numbers are constants: with a number in a register, the compiler reserves all
  /// sixteen barriers for the kernel, and spills.
  struct TeamSync {
    int team;
    template <int kNumber> static __device__ void wait() {
      asm volatile("bar.sync %0, %1;" ::"n"(kNumber), "n"(kTeam) : "memory");
    }
    __device__ void operator()() const {
      static_assert(kTeams == 4);
      if (team == 0) return wait<1>();
      if (team == 1) return wait<2>();
      if (team == 2) return wait<3>();
      wait<4>();
    }
  };
  struct WarpSync {
    __device__ void operator()() const { __syncwarp(); }
  };

  __device__ Complex32* exchange() const { return memory_.exchange[team_]; }
  __device__ Complex32* spectrum(int block) const { return spectra_ + block * kBlock + t_; }

  __device__ void transform(Complex32 (&v)[kPoints]) const {
    const TeamSync sync{team_};
    sync();
    gpu::fft_steps<kBlock, 1>(v, exchange(), job_.block_factors, t_, sync);
  }
  /// Transforms of 256 points, one for each part, in separate memory.
  __device__ static void transform_part(Complex32 (&v)[kPoints], Complex32* memory, const Complex32* factors, int t) {
    gpu::fft_steps<kPartSize, 1>(v, memory, factors, t, WarpSync{});
    __syncwarp();
  }

  __device__ float receive(int packet, float unit);
  __device__ void iterate(float step);
  __device__ void make_response() const;
  __device__ void add_gradient(int block, Complex32 (&sum)[kPoints]) const;
  __device__ void shorten(Complex32 (&sum)[kPoints]) const;

  const Job& job_;
  DescendMemory& memory_;
  Complex32* spectra_;
  int team_;
  int t_;
  int blocks_;
};

/// Spectra of the team's blocks; returns the energy of this thread's samples.
__device__ inline float PacketDescent::receive(int packet, float unit) {
  const Complex32* const window = job_.windows + static_cast<std::int64_t>(packet) * job_.window;
  const int end = static_cast<int>(PacketFormat::kGuard) + job_.samples;
  float energy = 0;
  for (int block = team_; block < blocks_; block += kTeams) {
    const int begin = block_begin(block);
    const int own = static_cast<int>(PacketFormat::kGuard) + kNew * block;
    Complex32 v[kPoints];
#pragma unroll
    for (int e = 0; e < kPoints; ++e) {
      const int at = begin + t_ + kTeam * e;
      v[e] = at < job_.window ? scaled(load(window + at), unit) : Complex32{};
      if (job_.turned) v[e] = gpu::times(v[e], phasor_at(job_, packet, at));
      if (at >= own && at < own + kNew && at < end) energy += square(v[e]);
    }
    transform(v);
#pragma unroll
    for (int e = 0; e < kPoints; ++e) spectrum(block)[kTeam * e] = v[e];
  }
  return energy;
}

__device__ inline void PacketDescent::iterate(float step) {
  __syncthreads();
  if (team_ == 0) make_response();
  __syncthreads();
  Complex32 sum[kPoints] = {};
  for (int block = team_; block < blocks_; block += kTeams) add_gradient(block, sum);
  shorten(sum);
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kTaps) return;
  Complex32 gradient{};
  for (int team = 0; team < kTeams; ++team)
#pragma unroll
    for (int part = 0; part < kParts; ++part) gradient = gradient + memory_.exchange[team][part * kPartStride + i];
  Complex32& tap = memory_.taps[i];
  tap = {tap.re - step * gradient.re, tap.im + step * gradient.im};
}

/// C / 2048, by one team: the inverse transform then needs no factor.
__device__ inline void PacketDescent::make_response() const {
  constexpr int kThreads = gpu::kFftThreads<kPartSize>;
  const int part = t_ / kThreads;
  const int t = t_ % kThreads;
  Complex32* const to = memory_.response + part * kPartStride;
  Complex32 v[kPoints];
#pragma unroll
  for (int e = 0; e < kPoints; ++e) {
    const int i = t + kThreads * e;
    v[e] = {};
    if (i < kTaps)
      v[e] = gpu::times(scaled(memory_.taps[i], 1.0f / kBlock), gpu::fft_factor(job_.block_roots, i * part));
  }
  transform_part(v, to, job_.block_factors, t);
#pragma unroll
  for (int e = 0; e < kPoints; ++e) to[t + kThreads * e] = v[e];
}

/// sum += (Z U*)* of a block.
__device__ inline void PacketDescent::add_gradient(int block, Complex32 (&sum)[kPoints]) const {
  const Complex32* const u = spectrum(block);
  const Complex32* const response = memory_.response + bin_place(t_);
  Complex32 v[kPoints];
#pragma unroll
  for (int e = 0; e < kPoints; ++e) {
    const Complex32 y = gpu::times(response[kTeam / kParts * e], u[kTeam * e]);
    v[e] = {y.re, -y.im};
  }
  const int end = min(kBlock, kOld + job_.samples - kNew * block);
#pragma unroll 1  // a single copy of the transform keeps the code short and takes few registers
  for (int turn = 0; turn < 2; ++turn) {
    transform(v);
    if (turn == 0) {
#pragma unroll
      for (int e = 0; e < kPoints; ++e) {
        const int n = t_ + kTeam * e;
        const float much = n >= kOld && n < end ? 2 * (square(v[e]) - 1) : 0;
        v[e] = {much * v[e].re, -much * v[e].im};
      }
    } else {
#pragma unroll
      for (int e = 0; e < kPoints; ++e) sum[e] = sum[e] + gpu::times(u[kTeam * e], Complex32{v[e].re, -v[e].im});
    }
  }
}

/// The team's result for the gradient, conjugated: a share of each part.
__device__ inline void PacketDescent::shorten(Complex32 (&sum)[kPoints]) const {
  constexpr int kThreads = gpu::kFftThreads<kPartSize>;
  const TeamSync sync{team_};
  Complex32* const bins = exchange() + bin_place(t_);
  sync();
#pragma unroll
  for (int e = 0; e < kPoints; ++e) bins[kTeam / kParts * e] = sum[e];
  sync();
  const int part = t_ / kThreads;
  const int t = t_ % kThreads;
  Complex32* const own = exchange() + part * kPartStride;
#pragma unroll
  for (int e = 0; e < kPoints; ++e) sum[e] = own[t + kThreads * e];
  __syncwarp();
  transform_part(sum, own, job_.block_factors, t);
#pragma unroll
  for (int e = 0; e < kPoints; ++e) {
    const int i = t + kThreads * e;
    own[i] = gpu::times(sum[e], gpu::fft_factor(job_.block_roots, i * part));
  }
}

__global__ void __launch_bounds__(kDescendThreads, 1) descend(const Job job) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& memory = *reinterpret_cast<DescendMemory*>(shared);
  const std::int64_t group_places = static_cast<std::int64_t>(count_blocks(job.samples)) * kBlock;
  Complex32* const spectra = job.spectra ? job.spectra + blockIdx.x * group_places
                                         : reinterpret_cast<Complex32*>(shared + sizeof(DescendMemory));
  const int packets = count_packets(job);
  PacketDescent descent(job, memory, spectra);
  for (int packet = static_cast<int>(blockIdx.x); packet < packets; packet += static_cast<int>(gridDim.x)) {
    const float unit = unit_of<32>(job, packet);
    if (unit > 0) descent.run(packet, unit);
    __syncthreads();
  }
}

}  // namespace iqd::equalizer
