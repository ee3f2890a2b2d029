// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/telemetry/packet_estimator/average_offsets.cuh"

/// Derotating parts of a window into shared memory.
namespace iqd::packet_estimator {
namespace {

/// exp(j phase), to float precision.
__device__ float2 exact_phasor(Phase phase) {
  double sine, cosine;
  sincospi(static_cast<double>(static_cast<std::int64_t>(phase.turns)) * 0x1p-63, &sine, &cosine);
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

/// Factors of a packet's samples, for parts of up to `Runs` runs.
template <int Runs> struct Turns {
  Phase turn;
  float2 coarse[Runs];  // of the runs of a part
  float2 fine[kRun];
};

/// Sets what is the same for all parts of the packet. The caller synchronizes, as load_turned does.
template <int Runs> __device__ void set_turns(const Job& job, Correlation s, Turns<Runs>& turns) {
  const Phase turn = turn_against(s.offset(job.lag));
  if (threadIdx.x == 0) turns.turn = turn;
  if (threadIdx.x < kRun) turns.fine[threadIdx.x] = exact_phasor(turn * static_cast<int>(threadIdx.x));
}

/// Samples begin … begin + count - 1 of the packet's window, derotated; zero where there are none. They touch at most
/// `Runs` runs. All threads of the block; afterwards all of them may read `to`.
template <int Runs> __device__ void load_turned(const Job& job, Turns<Runs>& turns, int begin, int count, float2* to) {
  __syncthreads();  // what is overwritten has been read, and the turns are set
  const int first_run = max(begin, 0) / kRun;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < Runs) turns.coarse[thread] = exact_phasor(turns.turn * ((first_run + thread) * kRun - kGuard));
  __syncthreads();
  const float2* const x = job.windows + static_cast<std::int64_t>(blockIdx.x) * job.window;
  for (int i = thread; i < count; i += kThreads) {
    const int n = begin + i;
    const bool there = n >= 0 && n < job.window;
    to[i] = there ? dsp::product(x[n], dsp::product(turns.coarse[n / kRun - first_run], turns.fine[n % kRun]))
                  : float2{0, 0};
  }
  __syncthreads();
}

}  // namespace
}  // namespace iqd::packet_estimator
