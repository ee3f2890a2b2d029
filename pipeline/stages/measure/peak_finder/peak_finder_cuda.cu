// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/peak_finder/candidates.cuh"
#include "pipeline/stages/measure/peak_finder/peak_finder.hpp"

namespace iqd::peak_finder {
namespace {

constexpr int kAtOnce = 3;  // thread blocks per multiprocessor

struct Job {
  const float* x;  // row 0, the first place to search
  std::int64_t x_pitch;
  std::int64_t length;
  std::int64_t part;  // places per thread block
  bool before;        // x[-1] exists
  bool behind;        // x[length] exists
  float threshold;
  int max;
  bool padded;
  const std::int32_t* given;  // 0: there is no input; null: there always is one
  Candidate* lists;           // [row][part][capacity]; null: in shared memory
  int capacity;
  Candidate* kept;  // [row][part][max], if there are several parts
  int* kept_count;  // [row][part]
  int parts;
  float2* y;
  std::int64_t y_pitch;
  std::int32_t* count;
};

__device__ List list_of(const Job& job) {
  extern __shared__ Candidate shared[];
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.y) * job.parts + blockIdx.x;
  return {job.lists ? job.lists + group * job.capacity : shared, job.max, job.capacity};
}

__device__ void write_peaks(const Job& job, const List& list) {
  float2* const y = job.y + static_cast<std::int64_t>(blockIdx.y) * job.y_pitch;
  const int end = job.padded ? job.max : list.count;
  for (int i = static_cast<int>(threadIdx.x); i < end; i += kThreads) {
    float2 peak{NAN, NAN};
    if (i < list.count) peak = {static_cast<float>(list.memory[i].place), list.memory[i].value};
    y[i] = peak;
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) *job.count = job.padded ? 1 : list.count;
}

/// True if there is no input; then sets the output's count to 0.
__device__ bool nothing_given(const Job& job) {
  if (!job.given || *job.given != 0) return false;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *job.count = 0;
  return true;
}

/// Finds the largest peaks of one part of a row: the result, or the input of `merge_parts`.
__global__ void __launch_bounds__(kThreads, kAtOnce) find_peaks(const Job job) {
  if (nothing_given(job)) return;
  const std::int64_t row = blockIdx.y;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * job.part;
  const Samples samples{job.x + row * job.x_pitch, job.length, job.before, job.behind, job.threshold};
  List list = list_of(job);
  list.fill(samples, begin, min(begin + job.part, job.length));
  if (gridDim.x == 1) return write_peaks(job, list);
  const std::int64_t group = row * job.parts + blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < list.count; i += kThreads)
    job.kept[group * job.max + i] = list.memory[i];
  if (threadIdx.x == 0) job.kept_count[group] = list.count;
}

/// One thread block per row.
__global__ void __launch_bounds__(kThreads) merge_parts(const Job job) {
  if (nothing_given(job)) return;
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.y) * job.parts;
  const Slots slots{job.kept + group * job.max, job.kept_count + group, static_cast<unsigned>(job.max),
                    static_cast<std::int64_t>(job.parts) * job.max};
  List list = list_of(job);
  list.fill(slots, 0, slots.length);
  write_peaks(job, list);
}

constexpr std::int64_t kSharedMax = 1024;          // peaks for which a list fits in shared memory
constexpr std::int64_t kMostCandidates = 1 << 22;  // in all lists together, if there are several
constexpr std::int64_t kAloneLength = 4 * kTile;   // up to this length one thread block is faster than two kernels

/// Each thread block keeps the largest of its part; with several parts, another kernel selects among them.
class Run final : public StageRun {
 public:
  explicit Run(const CudaSetup& setup) : setup_(setup), capacity_(2 * setup.max + kTile) {
    const std::int64_t groups = std::min(kAtOnce * gpu::count_multiprocessors(), kMostCandidates / capacity_);
    most_parts_ = std::max<std::int64_t>(1, groups / setup.rows);
    gpu::load_kernels("loading peak_finder", find_peaks, merge_parts);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    const std::int64_t a_group = setup_.max + (lists_in_scratch() ? capacity_ : 0);
    return static_cast<std::size_t>(setup_.rows * most_parts_) *
           (static_cast<std::size_t>(a_group) * sizeof(Candidate) + sizeof(int));
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Job job = job_of(io);
    const cudaStream_t stream = gpu::stream_of(view);
    const auto rows = static_cast<unsigned>(setup_.rows);
    const std::size_t bytes = lists_in_scratch() ? 0 : static_cast<std::size_t>(capacity_) * sizeof(Candidate);
    find_peaks<<<dim3(static_cast<unsigned>(job.parts), rows), kThreads, bytes, stream>>>(job);
    if (job.parts > 1) merge_parts<<<dim3(1, rows), kThreads, bytes, stream>>>(job);
  }

 private:
  bool lists_in_scratch() const noexcept { return setup_.max > kSharedMax; }

  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const std::int64_t begin = setup_.bins ? 0 : io.first_new - in.first;
    const std::int64_t end = setup_.bins ? in.item : io.end_new - in.first;
    const std::int64_t there = in.length * in.item;
    Job job{};
    job.x = reinterpret_cast<const float*>(in.data) + begin;
    job.x_pitch = in.pitch / static_cast<std::int64_t>(sizeof(float));
    job.length = std::max<std::int64_t>(end - begin, 0);
    job.before = begin > 0;
    job.behind = !setup_.bins && end < there;
    job.threshold = setup_.threshold;
    job.max = static_cast<int>(setup_.max);
    job.padded = setup_.padded;
    job.given = setup_.bins ? in.count : nullptr;
    job.capacity = static_cast<int>(capacity_);
    job.y = reinterpret_cast<float2*>(out.data);
    job.y_pitch = out.pitch / static_cast<std::int64_t>(sizeof(float2));
    job.count = out.count;
    deal_out(job, io.device_scratch);
    return job;
  }

  /// Assigns parts to thread blocks, and scratch to their results.
  void deal_out(Job& job, std::byte* scratch) const noexcept {
    const std::int64_t tiles = (job.length + kTile - 1) / kTile;
    const std::int64_t parts = job.length <= kAloneLength ? 1 : std::min(most_parts_, tiles);
    job.part = std::max<std::int64_t>(1, (tiles + parts - 1) / parts) * kTile;
    job.parts = static_cast<int>(std::max<std::int64_t>(1, (job.length + job.part - 1) / job.part));
    const std::int64_t groups = setup_.rows * most_parts_;
    job.kept = reinterpret_cast<Candidate*>(scratch);
    Candidate* const lists = job.kept + groups * setup_.max;
    job.lists = lists_in_scratch() ? lists : nullptr;
    job.kept_count = reinterpret_cast<int*>(lists + (lists_in_scratch() ? groups * capacity_ : 0));
  }

  CudaSetup setup_;
  std::int64_t capacity_;
  std::int64_t most_parts_ = 1;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::peak_finder
