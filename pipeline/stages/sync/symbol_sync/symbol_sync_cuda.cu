// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Three kernels: the sums of each hop, one thread block per hop; the clock of each hop and how many symbols the hops
// before it have, in one thread block; the symbols, one thread block per hop. The order of additions depends only on
// the place in the hop.
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/sync/group_sums.cuh"
#include "pipeline/stages/sync/hops.hpp"
#include "pipeline/stages/sync/power.hpp"
#include "pipeline/stages/sync/symbol_sync/symbol_sync.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::symbol_sync {
namespace {

using gpu::kWarp;
constexpr int kThreads = 128;
constexpr int kScanThreads = 1024;

/// A hop's symbols, and where to write them.
struct Piece {
  Clock clock;
  std::int64_t begin;  // its first new symbol
  std::int64_t end;
  std::int64_t place;  // among the block's symbols
};

struct Room {
  std::int64_t windows;
  Scratch scratch;
  Sums* sums = scratch.take<Sums>(windows + 1);
  Estimate* estimates = scratch.take<Estimate>(windows);
  Piece* pieces = scratch.take<Piece>(windows);
};

struct Job : Room {
  const float2* x;
  const std::int64_t* first_at;
  std::int64_t length;
  std::int64_t first_new;  // from the first sample in memory
  std::int64_t end_new;
  Timing timing;
  const Complex64* line;
  const float* taps;
  dsp::Items<float2> symbols;
  dsp::Items<float> values;

  __device__ dsp::Hops hops(std::int64_t first) const {
    return {timing.hop, first, first + length, first + first_new, first + end_new};
  }
};

__global__ void __launch_bounds__(kThreads) measure_hops(const Job job) {
  __shared__ double memory[kThreads / kWarp];
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t hop = hops.begin - 1 + blockIdx.x, place = hop * hops.hop - first;
  if (hop > hops.last) return;
  double re = 0, im = 0, energy = 0;
  for (std::int64_t i = threadIdx.x; i < hops.hop; i += kThreads) {
    if (place + i < 0 || place + i >= job.length) continue;
    const float2 x = job.x[place + i];
    const double p = dsp::power_of(x.x, x.y);
    const Complex64 line = job.line[i];
    re += p * line.re;
    im += p * line.im;
    energy += p;
  }
  re = gpu::sum_of_group<kThreads>(re, memory);
  im = gpu::sum_of_group<kThreads>(im, memory);
  energy = gpu::sum_of_group<kThreads>(energy, memory);
  if (threadIdx.x == 0) job.sums[blockIdx.x] = {{re, im}, energy};
}

/// By one thread block: all clocks, and the place of each hop's symbols.
__global__ void __launch_bounds__(kScanThreads) place_symbols(const Job job) {
  __shared__ std::int64_t memory[kScanThreads / kWarp];
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  for (std::int64_t g = hops.begin + threadIdx.x; g <= hops.last; g += kScanThreads) {
    const std::int64_t source = hops.source(g);
    const Sums* const sums = job.sums + (source - hops.begin);
    job.estimates[g - hops.begin] =
        job.timing.later(job.timing.estimate(sums[0], sums[1]), static_cast<int>(g - source));
  }
  __syncthreads();
  // The first hop may have begun before the new part; all others have not.
  const std::int64_t skipped = hops.begin * hops.hop < first + job.first_new ? 1 : 0;
  std::int64_t placed = 0;
  for (std::int64_t base = hops.begin; base < hops.last; base += kScanThreads) {
    const std::int64_t g = base + threadIdx.x, place = g * hops.hop - first;
    Piece piece{};
    if (g < hops.last) {
      const Estimate* const e = job.estimates + (g - hops.begin);
      piece.clock = job.timing.between(e[0], e[1]);
      piece.begin = piece.clock.symbols_before(job.first_new - place);
      piece.end = piece.clock.symbols_before(job.end_new - place);
      const std::int64_t window = g - hops.begin - skipped;
      if (job.values.data && window >= 0 && window < job.values.most)
        job.timing.write(piece.clock, e->strength,
                         job.values.data + window * static_cast<std::int64_t>(kValues.size()));
    }
    std::int64_t total;
    piece.place = placed + dsp::scan<kScanThreads>(piece.end - piece.begin, memory, total);
    if (g < hops.last) job.pieces[g - hops.begin] = piece;
    placed += total;
  }
  if (threadIdx.x > 0) return;
  *job.symbols.count = static_cast<std::int32_t>(min(placed, job.symbols.most));
  *job.values.count = hops.last > hops.begin ? static_cast<std::int32_t>(hops.last - hops.begin - skipped) : 0;
}

/// The signal between two samples; `n` is the first of the samples that it is interpolated from.
__device__ float2 value_at(const Job& job, std::int64_t n, double step) {
  const auto row = static_cast<std::int64_t>(step);
  const auto part = static_cast<float>(step - static_cast<double>(row));
  const float* const now = job.taps + row * Timing::kTaps;
  float re = 0, im = 0;
#pragma unroll
  for (int tap = 0; tap < Timing::kTaps; ++tap) {
    if (n + tap < 0 || n + tap >= job.length) continue;
    const float2 x = job.x[n + tap];
    const float a = __ldg(now + tap), b = __ldg(now + Timing::kTaps + tap);
    const float weight = a + part * (b - a);
    if (weight == 0) continue;
    re += weight * x.x;
    im += weight * x.y;
  }
  return {re, im};
}

__global__ void __launch_bounds__(kThreads) make_symbols(const Job job) {
  const std::int64_t first = dsp::read_once(job.first_at);
  const dsp::Hops hops = job.hops(first);
  const std::int64_t g = hops.begin + blockIdx.x;
  if (g >= hops.last) return;
  const Piece piece = job.pieces[blockIdx.x];
  const std::int64_t place = g * hops.hop - first;
  for (std::int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) {
    const std::int64_t to = piece.place + i - piece.begin;
    if (to >= job.symbols.most) return;
    const double offset = piece.clock.offset(i), whole = floor(offset);
    job.symbols[to] =
        value_at(job, place + static_cast<std::int64_t>(whole) - Timing::kBefore, (offset - whole) * Timing::kSteps);
  }
}

class Run final : public StageRun {
 public:
  Run(const Synchronizer& synchronizer, std::int64_t most_new)
      : timing_(synchronizer.timing()),
        windows_(timing_.most_windows(most_new)),
        line_(std::span<const Complex64>(synchronizer.line())),
        taps_(std::span<const float>(synchronizer.taps())) {
    gpu::load_kernels("loading symbol_sync", measure_hops, place_symbols, make_symbols);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{windows_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const Job job = job_of(io);
    const auto windows = static_cast<unsigned>(timing_.most_windows(io.end_new - io.first_new));
    measure_hops<<<windows + 1, kThreads, 0, stream>>>(job);
    place_symbols<<<1, kScanThreads, 0, stream>>>(job);
    make_symbols<<<windows, kThreads, 0, stream>>>(job);
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    Job job{{windows_, Scratch(io.device_scratch)}};
    job.x = in.row<const float2>();
    job.first_at = in.first_at;
    job.length = in.length;
    job.first_new = io.first_new - in.first;
    job.end_new = io.end_new - in.first;
    job.timing = timing_;
    job.line = line_.data();
    job.taps = taps_.data();
    job.symbols = io.out[kSymbols];
    job.values = io.out[kEstimates];
    return job;
  }

  Timing timing_;
  std::int64_t windows_;
  gpu::DeviceArray<Complex64> line_;
  gpu::DeviceArray<float> taps_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::symbol_sync
