// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and sums are in its order.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/telemetry/packet_estimator/average_offsets.cuh"
#include "pipeline/stages/telemetry/packet_estimator/measure_clock.cuh"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "pipeline/stages/telemetry/packet_estimator/turn.cuh"
#include "pipeline/stages/telemetry/packet_estimator/warp_window.cuh"
#include "signal/filters/scratch.hpp"

namespace iqd::packet_estimator {
namespace {

constexpr int kTile = kRun * 128;            // samples whose factors are in shared memory at a time
constexpr std::int64_t kMostColumns = 4096;  // that fit into shared memory on every device
static_assert(kSums == kWarp && kThreads % kRun == 0 && kGuard % kRun == 0);

/// What the threads of a packet share, apart from the pilot's samples.
struct Shared {
  Phase turn;
  float2 coarse[kTile / kRun];
  float2 fine[kRun];
  float2 channel[kTaps];
  double memory[kWarps];
};

/// Derotates a tile of the window, samples begin … end - 1, and keeps those of the pilot in `rows`.
__device__ void turn_tile(const Job& job, Shared& shared, float2* rows, int begin, int end) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kTile / kRun) shared.coarse[thread] = exact_phasor(shared.turn * (begin + thread * kRun - kGuard));
  __syncthreads();
  const std::int64_t packet = static_cast<std::int64_t>(blockIdx.x) * job.window;
  const float2* const x = job.windows + packet;
  const float2 fine = shared.fine[thread % kRun];
  for (int first = begin + thread; first < end; first += kBatch * kThreads) {
    float2 loaded[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kThreads < end) loaded[i] = x[first + i * kThreads];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int n = first + i * kThreads;
      if (n >= end) continue;
      const float2 y = dsp::product(loaded[i], dsp::product(shared.coarse[(n - begin) / kRun], fine));
      if (job.out_windows) job.out_windows[packet + n] = y;
      const int row = n - (kGuard + kTapsBehind);
      if (row >= 0 && row < job.rows) rows[row] = y;
    }
  }
  __syncthreads();
}

/// h = G r, one warp per tap.
__device__ void solve_channel(const Job& job, Shared& shared, const float2* rows) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int tap = static_cast<int>(threadIdx.x) / kWarp; tap < kTaps; tap += kWarps) {
    const float2* const __restrict__ g = job.solve + static_cast<std::int64_t>(tap) * job.columns;
    float2 sum{0, 0};
#pragma unroll 4
    for (int n = lane; n < job.columns; n += kWarp) {
      const float2 a = __ldg(g + n), r = rows[n];
      sum.x += a.x * r.x - a.y * r.y;
      sum.y += a.x * r.y + a.y * r.x;
    }
    sum = {gpu::sum_of_warp(sum.x), gpu::sum_of_warp(sum.y)};
    if (lane == 0) shared.channel[tap] = sum;
  }
  __syncthreads();
  const unsigned tap = threadIdx.x;
  if (job.channel && tap < kTaps)
    job.channel[static_cast<std::int64_t>(blockIdx.x) * kTaps + tap] = shared.channel[tap];
}

/// |r - X h|^2.
__device__ double residual_energy(const Job& job, Shared& shared, const float2* rows) {
  double energy = 0;
  for (int n = static_cast<int>(threadIdx.x); n < job.rows; n += kThreads) {
    float2 e = rows[n];
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      const float2 p = __ldg(job.wave + n + kTaps - 1 - tap), h = shared.channel[tap];
      e.x -= p.x * h.x - p.y * h.y;
      e.y -= p.x * h.y + p.y * h.x;
    }
    energy += double{e.x} * double{e.x} + double{e.y} * double{e.y};
  }
  return gpu::sum_of_group<kThreads>(energy, shared.memory);
}

__device__ void write_numbers(const Job& job, float noise, double offset) {
  job.noise[blockIdx.x] = noise;
  if (job.offset) job.offset[blockIdx.x] = static_cast<float>(offset);
  job.offset_hz[blockIdx.x] = static_cast<float>(offset * job.offsets.hertz);
}

/// Sets all outputs of a packet to NaN.
__device__ void refuse(const Job& job) {
  const auto fill = [](float2* to, int n) {
    for (int i = static_cast<int>(threadIdx.x); to && i < n; i += kThreads) to[i] = {NAN, NAN};
  };
  const std::int64_t packet = blockIdx.x;
  fill(job.out_windows ? job.out_windows + packet * job.window : nullptr, job.window);
  fill(job.channel ? job.channel + packet * kTaps : nullptr, kTaps);
  if (threadIdx.x > 0) return;
  write_numbers(job, NAN, NAN);
  if (job.over != Clock::off) job.clock[packet] = job.clock_quality[packet] = NAN;
}

/// Derotates the window, or only the pilot's samples if windows are not wanted.
__device__ void turn_window(const Job& job, Shared& shared, Correlation s, float2* rows) {
  if (threadIdx.x == 0) shared.turn = turn_against(s.offset(job.lag));
  __syncthreads();
  if (threadIdx.x < kRun) shared.fine[threadIdx.x] = exact_phasor(shared.turn * static_cast<int>(threadIdx.x));
  const int end = job.out_windows ? job.window : kGuard + kTapsBehind + job.rows;
  for (int begin = job.out_windows ? 0 : kGuard; begin < end; begin += kTile)
    turn_tile(job, shared, rows, begin, min(begin + kTile, end));
}

/// Removes the offset, and with `WithClock` the clock's error; estimates channel and noise. One thread block per packet.
template <bool WithClock> __global__ void __launch_bounds__(kThreads, 2) correct_packets(const Job job) {
  extern __shared__ float2 rows[];
  __shared__ Shared shared;
  if (static_cast<int>(blockIdx.x) >= job.found->packets) return;
  const Correlation s = job.s[blockIdx.x];
  if (isnan(s.re)) return refuse(job);
  for (int n = job.rows + static_cast<int>(threadIdx.x); n < job.columns; n += kThreads) rows[n] = {0, 0};
  if constexpr (WithClock) {
    __shared__ WarpMemory memory;
    warp_window(job, memory, s, rows);
  } else {
    turn_window(job, shared, s, rows);
  }
  solve_channel(job, shared, rows);
  const double energy = residual_energy(job, shared, rows);
  if (threadIdx.x == 0) write_numbers(job, static_cast<float>(energy / job.rho), s.offset(job.lag));
}

std::vector<float2> joined(const std::vector<float>& re, const std::vector<float>& im) {
  std::vector<float2> both(re.size());
  for (std::size_t i = 0; i < re.size(); ++i) both[i] = {re[i], im[i]};
  return both;
}

/// Memory between the kernels.
struct Room {
  std::int64_t most_packets;
  const ClockDesign& clock;
  Scratch scratch;
  Found* found = scratch.take<Found>(1);
  Correlation* s = scratch.take<Correlation>(most_packets);
  LineProduct* products = scratch.take<LineProduct>(most_packets * clock.segments);
  ClockError* errors = scratch.take<ClockError>(clock.over == Clock::off ? 0 : most_packets);
};

class Run final : public StageRun {
 public:
  Run(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock, std::int64_t most_packets)
      : wave_(joined(pilot.wave_re, pilot.wave_im)),
        solve_(joined(pilot.solve_re, pilot.solve_im)),
        most_packets_(most_packets),
        clock_(clock) {
    job_.wave = wave_.data();
    job_.solve = solve_.data();
    job_.rho = pilot.rho;
    job_.window = static_cast<int>(pilot.window);
    job_.lag = static_cast<int>(pilot.lag);
    job_.terms = static_cast<int>(pilot.terms);
    job_.rows = static_cast<int>(pilot.rows);
    job_.columns = static_cast<int>(pilot.columns);
    job_.offsets = offsets;
    job_.over = clock.over;
    if (clock.over != Clock::off) set_clock();
    gpu::load_kernels("loading packet_estimator", correlate_packets, average_block, average_carry,
                      correct_packets<false>);
    gpu::load_kernels("loading packet_estimator", measure_clock, search_clock, correct_packets<true>);
  }

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Job job = job_of(io);
    const cudaStream_t stream = gpu::stream_of(view);
    const auto groups = static_cast<unsigned>(job.most);
    correlate_packets<<<std::max(groups, 1u), kThreads, 0, stream>>>(job);
    if (job.offsets.average == Average::block) average_block<<<1, kThreads, 0, stream>>>(job);
    if (job.offsets.average == Average::carry) average_carry<<<1, kThreads, 0, stream>>>(job);
    const std::size_t rows_bytes = static_cast<std::size_t>(job.columns) * sizeof(float2);
    if (groups == 0) return;
    if (job.over == Clock::off) {
      correct_packets<false><<<groups, kThreads, rows_bytes, stream>>>(job);
      return;
    }
    if (job.segments > 0) measure_clock<<<groups, kThreads, 0, stream>>>(job);
    search_clock<<<job.over == Clock::block ? 1 : groups, kThreads, 0, stream>>>(job);
    correct_packets<true><<<groups, kThreads, rows_bytes, stream>>>(job);
  }

 private:
  Room room(std::byte* memory) const noexcept { return {most_packets_, clock_, Scratch(memory)}; }

  void set_clock() {
    band_pass_ = gpu::DeviceArray<float>(clock_.band_pass);
    line_turns_ =
        gpu::DeviceArray<double2>({reinterpret_cast<const double2*>(clock_.turns.data()), clock_.turns.size()});
    warp_ = gpu::DeviceArray<float>(clock_.warp);
    job_.band_pass = band_pass_.data();
    job_.line_turns = line_turns_.data();
    job_.warp = warp_.data();
    job_.middle = clock_.middle;
    job_.first = static_cast<int>(clock_.first);
    job_.segment = static_cast<int>(clock_.segment);
    job_.segments = static_cast<int>(clock_.segments);
    job_.line = static_cast<int>(clock_.line);
    job_.reach = static_cast<int>(clock_.reach());
  }

  Job job_of(const StageIo& io) const noexcept {
    Job job = job_;
    const Room shared = room(io.device_scratch);
    job.windows = reinterpret_cast<const float2*>(io.in[0].data);
    job.packets = io.in[0].count;
    job.most = static_cast<int>(io.in[0].length);
    job.found = shared.found;
    job.s = shared.s;
    job.products = shared.products;
    job.errors = shared.errors;
    job.mean = reinterpret_cast<Mean*>(io.carry);
    job.fresh = io.fresh;
    job.out_windows = reinterpret_cast<float2*>(io.out[0].data);
    job.channel = reinterpret_cast<float2*>(io.out[1].data);
    job.noise = reinterpret_cast<float*>(io.out[2].data);
    job.offset = reinterpret_cast<float*>(io.out[3].data);
    job.offset_hz = reinterpret_cast<float*>(io.out[4].data);
    job.clock = reinterpret_cast<float*>(io.out[5].data);
    job.clock_quality = reinterpret_cast<float*>(io.out[6].data);
    for (std::size_t o = 0; o < std::size(job.counts); ++o) job.counts[o] = io.out[o].count;
    for (std::size_t o = 0; o < std::size(job.clock_counts); ++o) job.clock_counts[o] = io.out[5 + o].count;
    return job;
  }

  gpu::DeviceArray<float2> wave_;
  gpu::DeviceArray<float2> solve_;
  std::int64_t most_packets_;
  ClockDesign clock_;
  gpu::DeviceArray<float> band_pass_;
  gpu::DeviceArray<double2> line_turns_;
  gpu::DeviceArray<float> warp_;
  Job job_{};
};

std::unique_ptr<StageRun> make(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock,
                               std::int64_t most_packets) {
  if (pilot.columns > kMostColumns)
    throw SetupError("packet_estimator: a pilot of " + std::to_string(pilot.wave_re.size()) +
                     " samples is too long for a GPU (at most " + std::to_string(kMostColumns + kTaps - 1) +
                     "); set `backend: cpu`");
  return std::make_unique<Run>(pilot, offsets, clock, most_packets);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::packet_estimator
