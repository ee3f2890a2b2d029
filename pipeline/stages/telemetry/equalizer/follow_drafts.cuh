// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_pipeline_primitives.h>

#include "pipeline/stages/telemetry/equalizer/packet_job.cuh"

/// Decisions on the symbols of a first pass, as decisions_cpu.cpp makes them: a lane follows a packet. A thread block is
/// one warp, which fetches the next symbols of its 32 packets while it follows the current ones.
namespace iqd::equalizer {

constexpr int kFollowed = 32;  // packets of a thread block
constexpr int kFetched = telemetry::kTile;
constexpr int kPairs = kFetched / 2;
static_assert(kFetched == 32, "a lane fetches one symbol of a tile, and a tile's bits are one word");

/// Follows symbols k … k + n - 1, y[0] … of them. Writes the phasor of each pair, and returns the bits, the first one
/// lowest.
__device__ inline unsigned follow_tile(const Job& job, telemetry::Loop (&loops)[1], int k, int n, const Complex32* y,
                                       Complex32* phasors) {
  const telemetry::Pilot pilot{job.pilot, job.pilot_bits};
  unsigned bits = 0;
  const auto read = [&](int, int i) {
    const telemetry::Symbol phasor = loops[0].phasor();
    if (i % 2 == 0) phasors[i / 2] = {phasor.re, phasor.im};
    return telemetry::Symbol{y[i].re, y[i].im};
  };
  const auto decide = [&](int, int i, float soft) {
    const float decided = k + i < pilot.bits ? pilot.a[k + i] : soft;
    bits |= (decided >= 0 ? 1u : 0u) << i;
  };
  track_tile(loops, pilot, job.gains, k, n, read, decide);
  return bits;
}

/// With the amplitude of the pilot in these symbols of a packet.
__device__ inline telemetry::Loop loop_of(const Job& job, const Complex32* draft) {
  return telemetry::measured_loop(telemetry::Pilot{job.pilot, job.pilot_bits}, [draft](int k) {
    const Complex32 y = load(draft + k);
    return telemetry::Symbol{y.re, y.im};
  });
}

/// All symbols were finite, and the amplitude is not 0.
__device__ inline bool usable(const telemetry::Loop& loop) {
  const telemetry::Symbol phasor = loop.phasor();
  return loop.good() && (phasor.re != 0 || phasor.im != 0);
}

struct FollowMemory {
  alignas(sizeof(Complex32)) Complex32 symbols[2][kFollowed][kFetched + 1];
  Complex32 phasors[kFollowed][kPairs + 1];
};

/// The packets of one thread block.
struct Followers {
  const Job& job;
  FollowMemory& memory;
  int packets;  // of all thread blocks
  int first;    // of this thread block
  int lane = static_cast<int>(threadIdx.x);

  /// Lanes without a packet repeat the last one.
  __device__ const Complex32* draft_of(int i) const { return job.draft_of(min(first + i, packets - 1)); }

  /// Starts copying symbols k … k + 31 to shared memory, a row for each packet.
  __device__ void fetch(int k) const {
    if (k + lane < job.bits)
      for (int i = 0; i < kFollowed; ++i)
        __pipeline_memcpy_async(&memory.symbols[k / kFetched % 2][i][lane], draft_of(i) + k + lane, sizeof(Complex32));
    __pipeline_commit();
  }

  /// Writes the phasors of symbols k … k + n - 1: half a warp for each packet.
  __device__ void write(int k, int n) const {
    const int pair = lane % kPairs;
    if (pair >= n / 2) return;
    for (int i = lane / kPairs; i < min(kFollowed, packets - first); i += kFollowed / kPairs)
      job.phasors_of(first + i)[k / 2 + pair] = memory.phasors[i][pair];
  }

  __device__ void run() const {
    const bool mine = first + lane < packets;
    telemetry::Loop loops[1] = {loop_of(job, draft_of(lane))};
    fetch(0);
    for (int k = 0; k < job.bits; k += kFetched) {
      fetch(k + kFetched);
      __pipeline_wait_prior(1);
      __syncwarp();
      const int n = min(kFetched, job.bits - k);
      const Complex32* const y = memory.symbols[k / kFetched % 2][lane];
      const unsigned bits = follow_tile(job, loops, k, n, y, memory.phasors[lane]);
      if (mine) job.words_of(first + lane)[k / kFetched] = bits;
      __syncwarp();
      write(k, n);
      __syncwarp();
    }
    if (mine) job.usable[first + lane] = usable(loops[0]) ? 1 : 0;
  }
};

__global__ void __launch_bounds__(kFollowed) follow_drafts(const Job job) {
  __shared__ FollowMemory memory;
  const int packets = count_packets(job);
  const int first = static_cast<int>(blockIdx.x) * kFollowed;
  if (first < packets) Followers{job, memory, packets, first}.run();
}

}  // namespace iqd::equalizer
