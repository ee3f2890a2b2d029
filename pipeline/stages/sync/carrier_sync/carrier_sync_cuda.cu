// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Four kernels: the bins of each hop, one thread block per hop; the strongest line of each window, one thread per
// window; the number of turns of the phase, in one thread block, which reads and writes the carry; the samples. The
// order of additions depends only on the place in the hop.
#include <algorithm>
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/sync/carrier_sync/carrier_sync.hpp"
#include "pipeline/stages/sync/group_sums.cuh"
#include "pipeline/stages/sync/hops.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::carrier_sync {
namespace {

using gpu::kWarp;
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
constexpr int kScanThreads = 1024;
constexpr int kTurnThreads = 256;
constexpr std::int64_t kMostParts = 1030;  // of a hop with the maximum number of bins

/// Data passed between the kernels, for as many hops as a piece has.
struct Room {
  std::int64_t windows;
  std::int64_t bins;
  Scratch scratch;
  Complex* sums = scratch.take<Complex>((windows + 1) * bins);  // [hop][bin]
  double* weights = scratch.take<double>(windows + 1);          // [hop]
  Estimate* estimates = scratch.take<Estimate>(windows);
  std::int64_t* turns = scratch.take<std::int64_t>(windows);  // of each hop: the phase's number of turns before it
  std::int64_t* ahead = scratch.take<std::int64_t>(1);        // turns after the new part
};

/// A piece of the output.
struct Job : Room {
  const float2* x;
  const std::int64_t* first_at;
  std::int64_t length;
  std::int64_t begin;  // of the output, from the first sample in memory
  std::int64_t end;
  Search search;
  const float2* line;  // or null
  const float2* table;
  const std::int64_t* turns_in;  // at the hop of `begin`; null: 0
  std::int64_t* turns_out;       // at that of `end`
  float2* y;                     // from `begin` on
  dsp::Items<float> values;      // the count is null if these windows belong to the next block

  __device__ dsp::Hops hops(std::int64_t first) const {
    return {search.hop, first, first + length, first + begin, first + end};
  }
};

__device__ Complex parts_of(float2 x) {
  return {x.x, x.y};
}

/// The direction of the line of |x|^2 at the symbol rate; 0 if there is none.
__device__ Complex timing(const Job& job, std::int64_t place, double* memory) {
  if (!job.line) return {};
  double re = 0, im = 0, energy = 0;
  for (std::int64_t i = threadIdx.x; i < job.search.hop; i += kThreads) {
    if (place + i < 0 || place + i >= job.length) continue;
    const auto power = static_cast<double>(power_of(parts_of(job.x[place + i])));
    const float2 line = job.line[i];
    re += power * static_cast<double>(line.x);
    im += power * static_cast<double>(line.y);
    energy += power;
  }
  re = gpu::sum_of_group<kThreads>(re, memory);
  im = gpu::sum_of_group<kThreads>(im, memory);
  energy = gpu::sum_of_group<kThreads>(energy, memory);
  const double length = sqrt(re * re + im * im);
  if (!(length > kFaintest * energy)) return {};
  return {static_cast<float>(re / length), static_cast<float>(im / length)};
}

__global__ void __launch_bounds__(kThreads) measure_hops(const Job job) {
  __shared__ double memory[kWarps];
  __shared__ Complex parts[kMostParts];
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t hop = hops.begin - 1 + blockIdx.x, place = hop * hops.hop - first;
  if (hop > hops.last) return;
  const Complex direction = timing(job, place, memory);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  double weight = 0;
  for (std::int64_t part = threadIdx.x / kWarp; part < job.search.parts; part += kWarps) {
    double re = 0, im = 0;
    for (std::int64_t i = part * job.search.part + lane; i < (part + 1) * job.search.part; i += kWarp) {
      if (place + i < 0 || place + i >= job.length) continue;
      const Complex x = parts_of(job.x[place + i]);
      const float power = power_of(x);
      const Complex v = without_symbol(x, power, job.search.symmetry);
      const float counts = job.line ? weight_of(parts_of(job.line[i]), direction) : 1.0f;
      re += static_cast<double>(counts * v.re);
      im += static_cast<double>(counts * v.im);
      weight += static_cast<double>(counts * power);
    }
    re = gpu::sum_of_warp(re);
    im = gpu::sum_of_warp(im);
    if (lane == 0) parts[part] = {static_cast<float>(re), static_cast<float>(im)};
  }
  weight = gpu::sum_of_group<kThreads>(weight, memory);
  if (threadIdx.x == 0) job.weights[blockIdx.x] = weight;
  const int bins = job.search.bins();
  for (int bin = static_cast<int>(threadIdx.x); bin < bins; bin += kThreads) {
    Complex sum{};
    for (std::int64_t part = 0; part < job.search.parts; ++part) {
      const Complex turned = product(parts[part], parts_of(job.table[part * bins + bin]));
      sum.re += turned.re;
      sum.im += turned.im;
    }
    job.sums[static_cast<std::int64_t>(blockIdx.x) * bins + bin] = sum;
  }
}

__global__ void __launch_bounds__(kThreads) find_lines(const Job job) {
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t g = hops.begin + blockIdx.x * kThreads + threadIdx.x;
  if (g > hops.last) return;
  const std::int64_t source = hops.source(g), at = source - hops.begin;
  const int bins = job.search.bins();
  const Estimate e = job.search.estimate(job.sums + at * bins, job.sums + (at + 1) * bins,
                                         job.weights[at] + job.weights[at + 1], hops.middle(source));
  job.estimates[g - hops.begin] = job.search.later(e, static_cast<int>(g - source));
}

/// By one thread block: the phase's number of turns before each hop.
__global__ void __launch_bounds__(kScanThreads) count_turns(const Job job) {
  __shared__ std::int64_t memory[kScanThreads / kWarp];
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t left_at = floor_div(first + job.end, hops.hop);
  const std::int64_t skipped = hops.begin * hops.hop < first + job.begin ? 1 : 0;
  std::int64_t here = job.turns_in ? *job.turns_in : 0;
  __syncthreads();  // all threads have read before one writes
  for (std::int64_t base = hops.begin; base <= hops.last; base += kScanThreads) {
    const std::int64_t g = base + threadIdx.x;
    const Estimate* const e = job.estimates + (g - hops.begin);
    std::int64_t total;
    const std::int64_t turns =
        here + dsp::scan<kScanThreads>(g < hops.last ? job.search.turns_between(e[0], e[1]) : 0, memory, total);
    here += total;
    if (g > hops.last) continue;
    job.turns[g - hops.begin] = turns;
    if (g == left_at) *job.turns_out = turns;
    const std::int64_t window = g - hops.begin - skipped;
    if (g < hops.last && window >= 0 && window < job.values.most)
      job.search.write(*e, turns, job.values.data + window * static_cast<std::int64_t>(kValues.size()));
  }
  if (threadIdx.x == 0 && job.values.count)
    *job.values.count = static_cast<std::int32_t>(max(hops.last - hops.begin - skipped, std::int64_t{0}));
}

/// exp(-j 2 pi turns), to 1e-7
__device__ Complex quick_phasor_back(double turns) {
  float sine, cosine;
  sincospif(static_cast<float>(-2 * Search::wrapped(turns)), &sine, &cosine);
  return {cosine, sine};
}

/// One thread block per hop, or per part of a hop.
__global__ void __launch_bounds__(kTurnThreads) turn_samples(const Job job) {
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t g = hops.begin + blockIdx.x, place = g * hops.hop - first;
  if (g >= hops.last) return;
  const Estimate* const e = job.estimates + blockIdx.x;
  const double phase = job.search.carrier(e[0], job.turns[blockIdx.x]), slope = job.search.slope(e[0], e[1]);
  const std::int64_t begin = max(place, job.begin), end = min(place + hops.hop, job.end);
  const std::int64_t step = std::int64_t{kTurnThreads} * gridDim.y;
  for (std::int64_t n = begin + blockIdx.y * kTurnThreads + threadIdx.x; n < end; n += step) {
    const Complex y = product(parts_of(job.x[n]), quick_phasor_back(phase + slope * static_cast<double>(n - place)));
    job.y[n - job.begin] = {y.re, y.im};
  }
}

class Run final : public StageRun {
 public:
  Run(const Synchronizer& synchronizer, std::int64_t most_new)
      : search_(synchronizer.search()),
        piece_(std::max(most_new, 4 * search_.hop)),
        line_(std::span<const cf32>(synchronizer.line())),
        table_(std::span<const cf32>(synchronizer.bins())) {
    gpu::load_kernels("loading carrier_sync", measure_hops, find_lines, count_turns, turn_samples);
  }

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  /// The new part is one piece, which sets the carry; output beyond it is a second piece that continues from there.
  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[kSamples], &estimates = io.out[kEstimates];
    const cudaStream_t stream = gpu::stream_of(view);
    auto* const carry = reinterpret_cast<std::int64_t*>(io.carry);
    Job job = job_of(in, io.device_scratch);
    job.begin = out.first - in.first;
    job.end = std::min(io.end_new, out.end()) - in.first;
    job.turns_in = io.fresh ? nullptr : carry;
    job.turns_out = carry;
    job.y = out.row<float2>();
    job.values = estimates;
    if (!job.values.data) job.values.most = 0;
    launch(job, stream);
    job.values.most = 0;
    job.values.count = nullptr;
    for (const std::int64_t end = out.end() - in.first; job.end < end;) {
      job.turns_in = job.turns_out;
      job.turns_out = job.ahead;
      job.y += job.end - job.begin;
      job.begin = job.end;
      job.end = std::min(end, job.begin + piece_);
      launch(job, stream);
    }
  }

 private:
  static constexpr std::int64_t kMostGroups = 64;  // thread blocks per hop

  Room room(std::byte* memory) const noexcept {
    return {search_.most_windows(piece_), search_.bins(), Scratch(memory)};
  }

  Job job_of(const PortIo& in, std::byte* scratch) const noexcept {
    Job job{room(scratch)};
    job.x = in.row<const float2>();
    job.first_at = in.first_at;
    job.length = in.length;
    job.search = search_;
    job.line = reinterpret_cast<const float2*>(line_.data());
    job.table = reinterpret_cast<const float2*>(table_.data());
    return job;
  }

  void launch(const Job& job, cudaStream_t stream) const noexcept {
    const std::int64_t windows = search_.most_windows(job.end - job.begin);
    const std::int64_t groups = std::clamp<std::int64_t>(search_.hop / (4 * kTurnThreads), 1, kMostGroups);
    measure_hops<<<static_cast<unsigned>(windows + 1), kThreads, 0, stream>>>(job);
    find_lines<<<gpu::groups_of(windows, kThreads), kThreads, 0, stream>>>(job);
    count_turns<<<1, kScanThreads, 0, stream>>>(job);
    turn_samples<<<dim3(static_cast<unsigned>(windows), static_cast<unsigned>(groups)), kTurnThreads, 0, stream>>>(job);
  }

  Search search_;
  std::int64_t piece_;
  gpu::DeviceArray<cf32> line_;
  gpu::DeviceArray<cf32> table_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::carrier_sync
