// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <limits>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/soqpsk_detector/soqpsk_detector.hpp"

namespace iqd::soqpsk_detector {
namespace {

// A chain is some 3,000 updates that wait for each other, so nothing else may delay them. One warp of a thread block
// runs the loops, one chain per lane; others fetch the next tile and write the decisions of the previous one. Warp w
// issues from scheduler w mod 4, and one scheduler is reserved for the follower: its other warps are idle.
constexpr int kChains = 32;
constexpr int kSchedulers = 4;
constexpr int kWarps = 2 * kSchedulers;
constexpr int kThreads = 32 * kWarps;
constexpr int kMovers = kWarps / kSchedulers * (kSchedulers - 1);
constexpr int kFollower = -1;
constexpr int kPitch = kTile + 1;  // row pitch in shared memory: no bank conflicts by rows or by columns
static_assert(kTile == 32, "a mover's lane has one symbol of a tile");

struct Job {
  const float2* symbols;
  const float* pilot;
  int pilot_bits;
  int bits;
  int most;  // chains
  int kinds;
  Gains gains;
  bool differential;
  const std::int32_t* packets;
  std::int32_t* counts[3];
  Results to;
  unsigned processors;
};

struct Shared {
  alignas(sizeof(Symbol)) Symbol symbols[2][kChains][kPitch];
  float soft[2][kChains][kPitch];  // [0]: of the bit before the tile
  float llr_gain[kChains];
  bool good[kChains];
};

/// The chains of one thread block.
struct Group {
  const Job& job;
  Shared& shared;
  int chains;  // of all thread blocks
  int first;   // of this thread block
  int lane = static_cast<int>(threadIdx.x) % 32;

  __device__ int payload() const { return job.bits - job.pilot_bits; }
  __device__ Pilot pilot() const { return {job.pilot, job.pilot_bits}; }
  __device__ int pilot_tiles() const { return (job.pilot_bits + kTile - 1) / kTile; }
  __device__ int tiles() const { return (job.bits + kTile - 1) / kTile; }
  /// First the pilot's tiles, to measure the amplitude, then all tiles.
  __device__ int steps() const { return pilot_tiles() + tiles(); }
  __device__ int tile_of(int step) const { return step < pilot_tiles() ? step : step - pilot_tiles(); }
  __device__ int begin_of(int step) const { return tile_of(step) * kTile; }

  /// Element i in the row of a chain; rows have `each` elements.
  __device__ static std::int64_t place(int chain, int each, int i) { return std::int64_t{chain} * each + i; }

  /// Starts copying the tile of a step to shared memory, one row per chain; `mover` of kMovers. Lanes without a chain
  /// repeat the last one.
  __device__ void fetch(int step, int mover) const {
    const int k = begin_of(step) + lane;
    if (step < steps() && k < job.bits)
      for (int c = mover; c < kChains; c += kMovers) {
        const float2* const from = job.symbols + place(min(first + c, chains - 1), job.bits, k);
        __pipeline_memcpy_async(&shared.symbols[step % 2][c][lane], from, sizeof(Symbol));
      }
    __pipeline_commit();
  }

  /// Writes the results of the tile of a step.
  __device__ void write(int step, int mover) const {
    const int k = begin_of(step) + lane;
    if (step < pilot_tiles() || k >= job.bits) return;
    const int end = min(kChains, chains - first);
#pragma unroll 2
    for (int c = mover; c < end; c += kMovers) {
      const float* const row = shared.soft[step % 2][c] + 1;
      if (job.to.soft) job.to.soft[place(first + c, job.bits, k)] = row[lane];
      if (k < job.pilot_bits) continue;
      const float before = k == job.pilot_bits ? kBefore : row[lane - 1];
      const Decision d = decide(row[lane], before, k, shared.llr_gain[c], job.differential);
      const std::int64_t at = place(first + c, payload(), k - job.pilot_bits);
      job.to.bits[at] = d.bit;
      if (job.to.llr) job.to.llr[at] = d.llr;
      if (job.to.whole_llr) job.to.whole_llr[at] = whole_llr(d.llr);
    }
  }

  /// What each lane of the follower knows about its chain.
  struct Follower {
    float sum = 0;
    Loop loops[1];
    float last = 0;
  };
  __device__ void measure(int step, Follower& f) const {
    const Symbol* const y = shared.symbols[step % 2][lane];
    const int k = begin_of(step);
    for (int i = max(0, kSettled - k); i < min(kTile, job.pilot_bits - k); ++i)
      f.sum = f.sum + along(pilot(), k + i, y[i]);
    if (step == pilot_tiles() - 1) f.loops[0] = Loop(f.sum, pilot());
  }
  __device__ void follow(int step, Follower& f) const {
    const Symbol* const y = shared.symbols[step % 2][lane];
    float* const soft = shared.soft[step % 2][lane] + 1;
    const int k = begin_of(step);
    const int n = min(kTile, job.bits - k);
    soft[-1] = f.last;
    track_tile(
        f.loops, pilot(), job.gains, k, n, [y](int, int i) { return y[i]; },
        [soft](int, int i, float value) { soft[i] = value; });
    f.last = soft[n - 1];
    if (k < job.pilot_bits && k + n >= job.pilot_bits) shared.llr_gain[lane] = f.loops[0].llr_gain(pilot());
    if (step == steps() - 1) shared.good[lane] = f.loops[0].good();
  }

  /// Overwrites the results of chains with a NaN or an infinity.
  __device__ void mark_bad() const {
    for (int c = 0; c < min(kChains, chains - first); ++c) {
      if (shared.good[c]) continue;
      for (int k = static_cast<int>(threadIdx.x); k < job.bits; k += kThreads) {
        if (job.to.soft) job.to.soft[place(first + c, job.bits, k)] = std::numeric_limits<float>::quiet_NaN();
        if (k < job.pilot_bits) continue;
        const std::int64_t at = place(first + c, payload(), k - job.pilot_bits);
        job.to.bits[at] = 0;
        if (job.to.llr) job.to.llr[at] = 0;
        if (job.to.whole_llr) job.to.whole_llr[at] = 0;
      }
    }
  }
};

/// The number of chains; one thread of each thread block reads it. The first thread block also writes the number of
/// packets of the outputs.
__device__ int count_chains(const Job& job) {
  __shared__ int chains;
  if (threadIdx.x == 0) {
    const int packets = *job.packets;
    chains = min(packets * job.kinds, job.most);
    if (blockIdx.x == 0)
      for (std::int32_t* const count : job.counts) *count = packets;
  }
  __syncthreads();
  return chains;
}

/// The role of this warp: kFollower, one of kMovers, or one without rows to move. Thread blocks that share a
/// multiprocessor have their followers on different schedulers.
__device__ int role_of_warp(const Job& job) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned turn = blockIdx.x / job.processors;
  const auto place = static_cast<int>((warp + turn) % kSchedulers);
  const auto round = static_cast<int>(warp / kSchedulers);
  if (place > 0) return place - 1 + round * (kSchedulers - 1);
  return round == 0 ? kFollower : kChains;
}

// Four thread blocks a multiprocessor, so that 3,104 packets of five kinds all run at once on 132 multiprocessors.
__global__ void __launch_bounds__(kThreads, 4) detect_chains(const Job job) {
  __shared__ Shared shared;
  const Group group{job, shared, count_chains(job), static_cast<int>(blockIdx.x) * kChains};
  if (group.first >= group.chains) return;
  const int role = role_of_warp(job);
  Group::Follower follower;
  if (role != kFollower) group.fetch(0, role);
  for (int step = 0; step < group.steps(); ++step) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (role != kFollower) {
      group.fetch(step + 1, role);
      if (step > 0) group.write(step - 1, role);
    } else if (step < group.pilot_tiles()) {
      group.measure(step, follower);
    } else {
      group.follow(step, follower);
    }
  }
  __syncthreads();
  if (role != kFollower) group.write(group.steps() - 1, role);
  __syncthreads();
  group.mark_bad();
}

class Run final : public StageRun {
 public:
  Run(const Setup& setup, LlrForm llr)
      : setup_(setup), llr_(llr), pilot_(std::span(setup.pilot)), processors_(gpu::count_multiprocessors()) {
    gpu::load_kernels("loading soqpsk_detector", detect_chains);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const Job job = job_of(io);
    const unsigned groups = gpu::groups_of(job.most, kChains);
    if (groups == 0) return;
    detect_chains<<<groups, kThreads, 0, gpu::stream_of(stream)>>>(job);
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const std::int64_t kinds = in.item / setup_.bits;
    Job job{};
    job.symbols = reinterpret_cast<const float2*>(in.data);
    job.pilot = pilot_.data();
    job.pilot_bits = static_cast<int>(pilot_.size());
    job.bits = static_cast<int>(setup_.bits);
    job.most = static_cast<int>(in.length * kinds);
    job.kinds = static_cast<int>(kinds);
    job.gains = setup_.gains;
    job.differential = setup_.differential;
    job.packets = in.count;
    for (std::size_t o = 0; o < 3; ++o) job.counts[o] = io.out[o].count;
    job.to = results_of(io.out, llr_);
    job.processors = static_cast<unsigned>(processors_);
    return job;
  }

  Setup setup_;
  LlrForm llr_;
  gpu::DeviceArray<float> pilot_;
  std::int64_t processors_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::soqpsk_detector
