// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: sums, products and roots are rounded as on the CPU, so the same frames are found.
#include <algorithm>

#include "base/integer.hpp"
#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/framer/framer.hpp"
#include "pipeline/stages/sync/framer/metric.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::framer {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffff;

/// The result of a cell: `span` + 1 positions, in which at most one frame begins.
struct Cell {
  std::int64_t n;  // -1: none begins here
  std::int32_t length;
  Ending ending;
};

/// Data passed between the kernels.
struct Room {
  std::int64_t positions;  // where T is computed, at most
  std::int64_t most_cells;
  std::int64_t frame_bytes;
  Scratch scratch;
  float* metric = scratch.take<float>(positions);  // [end - begin]
  Cell* cells = scratch.take<Cell>(most_cells);
  std::uint8_t* bytes = scratch.take<std::uint8_t>(most_cells * frame_bytes);  // [cell][bytes]
};

/// One block. Positions count from the first sample that exists.
struct Job : Room {
  const float* x;
  std::int64_t length;
  std::int64_t begin, end;   // where T is computed
  std::int64_t first, last;  // where frames may begin
  std::int64_t span;
  const std::int64_t* first_at;
  FrameRules rules;
  float threshold;
  std::int64_t cell_count;

  std::uint8_t* out;
  std::int64_t* start;
  std::int32_t* payload;
  float* peak;
  std::int64_t* events;
  std::int32_t* counts[kTally + 1];

  __device__ float at(std::int64_t n) const { return n < begin || n >= end ? 0 : metric[n - begin]; }
};

__global__ void __launch_bounds__(kThreads) correlate(const Job job) {
  const std::int64_t n = job.begin + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n >= job.end) return;
  float weighted = 0, plain = 0, squares = 0;
  for (int k = 0; k < job.rules.pattern; ++k) {
    const float x = job.x[n + job.rules.offsets[k]];
    weighted += job.rules.weights[k] * x;
    plain += x;
    squares += x * x;
  }
  job.metric[n - job.begin] = metric_of(weighted, plain, squares, static_cast<float>(job.rules.pattern));
}

/// By one warp: whether nothing within the pattern's length is larger, or equal and earlier.
__device__ bool is_largest(const Job& job, std::int64_t n, float peak) {
  bool larger = false;
  for (std::int64_t m = n - job.span + threadIdx.x % kWarp; m <= n + job.span; m += kWarp) {
    const float t = job.at(m);
    larger = larger || t > peak || (t == peak && m < n);
  }
  return !__any_sync(kAll, larger);
}

/// One warp per cell finds its peak, if there is one, and one thread reads the frame. Frames are few, and each is a
/// chain of dependent steps.
__global__ void __launch_bounds__(kThreads) read_frames(const Job job) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t k = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (k >= job.cell_count) return;
  const std::int64_t from = job.first + k * (job.span + 1);
  const std::int64_t to = min(from + job.span + 1, job.last);
  float peak = 0;
  std::int64_t n = from;
  for (std::int64_t m = from + lane; m < to; m += kWarp)
    if (job.at(m) > peak) peak = job.at(m), n = m;
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAll, peak, step);
    const std::int64_t place = __shfl_xor_sync(kAll, n, step);
    if (other > peak || (other == peak && place < n)) peak = other, n = place;
  }
  Cell cell{-1, 0, Ending::good};
  if (peak > 0 && peak >= job.threshold && is_largest(job, n, peak) && lane == 0) {
    cell.n = n;
    cell.ending = read_frame(job.rules, job.x, job.length, n, vertex(job.at(n - 1), peak, job.at(n + 1)),
                             job.bytes + k * job.rules.bytes, cell.length);
  }
  if (lane == 0) job.cells[k] = cell;
}

/// By one warp: outputs good frames in order and counts events.
__global__ void __launch_bounds__(kWarp) give_frames(const Job job) {
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t origin = *job.first_at;
  int given = 0;
  int events[kEvents.size()] = {};
  for (std::int64_t first = 0; first < job.cell_count; first += kWarp) {
    const std::int64_t own = first + lane;
    const Cell cell = own < job.cell_count ? job.cells[own] : Cell{-1, 0, Ending::good};
    for (int e = 0; e < static_cast<int>(kEvents.size()); ++e)
      events[e] += __popc(__ballot_sync(kAll, cell.n >= 0 && static_cast<int>(cell.ending) == e));
    for (unsigned todo = __ballot_sync(kAll, cell.n >= 0 && cell.ending == Ending::good); todo != 0; todo &= todo - 1) {
      const int turn = __ffs(static_cast<int>(todo)) - 1;
      const std::uint8_t* const from = job.bytes + (first + turn) * job.rules.bytes;
      for (int i = lane; i < job.rules.bytes; i += kWarp) job.out[given * job.rules.bytes + i] = from[i];
      if (lane == turn) {
        job.start[given] = origin + cell.n;
        job.payload[given] = cell.length;
        job.peak[given] = job.at(cell.n);
      }
      ++given;
    }
  }
  if (lane < static_cast<int>(kEvents.size())) job.events[lane] = events[lane];
  if (lane <= kTally) *job.counts[lane] = lane == kTally ? 1 : given;
}

class Run final : public StageRun {
 public:
  Run(const Plan& plan, std::int64_t most_new)
      : plan_(plan), most_new_(most_new), offsets_(plan.offsets), weights_(plan.weights), bit_(plan.bit) {}

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const Job job = job_of(io);
    const cudaStream_t to = gpu::stream_of(stream);
    if (job.end > job.begin) correlate<<<gpu::groups_of(job.end - job.begin, kThreads), kThreads, 0, to>>>(job);
    if (job.cell_count > 0) read_frames<<<gpu::groups_of(job.cell_count * kWarp, kThreads), kThreads, 0, to>>>(job);
    give_frames<<<1, kWarp, 0, to>>>(job);
  }

 private:
  Room room(std::byte* memory) const noexcept {
    return {most_new_ + 2 * plan_.span, ceil_div(most_new_, plan_.span + 1), plan_.format.bytes, Scratch(memory)};
  }

  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    Job job{room(io.device_scratch)};
    job.x = in.row<const float>();
    job.length = in.length;
    job.first = io.first_new - in.first;
    job.begin = std::max<std::int64_t>(0, job.first - plan_.span);
    job.end = std::min(in.length - plan_.span, io.end_new - in.first + plan_.span);
    job.last = std::min(io.end_new - in.first, job.end);
    job.span = plan_.span;
    job.first_at = in.first_at;
    job.rules = plan_.rules();
    job.rules.offsets = offsets_.data();
    job.rules.weights = weights_.data();
    job.rules.bit = bit_.data();
    job.threshold = plan_.threshold;
    job.cell_count = std::max<std::int64_t>(0, ceil_div(job.last - job.first, plan_.span + 1));
    job.out = io.out[kBytes].row<std::uint8_t>();
    job.start = io.out[kStart].row<std::int64_t>();
    job.payload = io.out[kLength].row<std::int32_t>();
    job.peak = io.out[kMetric].row<float>();
    job.events = io.out[kTally].row<std::int64_t>();
    for (const Port port : {kBytes, kStart, kLength, kMetric, kTally}) job.counts[port] = io.out[port].count;
    return job;
  }

  Plan plan_;
  std::int64_t most_new_;
  gpu::DeviceArray<std::int32_t> offsets_;
  gpu::DeviceArray<float> weights_;
  gpu::DeviceArray<float> bit_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::framer
