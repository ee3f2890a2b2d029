// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of chunks, a warp each; then a thread for each row goes from chunk to chunk; then the samples. Compiled with
// -fmad=false: sums and samples are rounded as on the CPU.
#include <algorithm>

#include "base/integer.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/iq_correct/iq_correct.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::iq_correct {
namespace {

static_assert(kParts == gpu::kWarp);

constexpr int kThreads = 256;

/// The samples at begin … end-1, relative to x, of each row, and the corrections of their chunks.
struct Job {
  View<const float2, 2> x;
  const std::int64_t* x_first_at;  // position of x
  std::int64_t begin, end;
  Averaging averaging;
  const State* before;  // of each row; null: none
  State* after;         // null with Averaging::by_block
  std::int64_t most_chunks;
  Sums* chunks;             // [row][most_chunks]
  Sums* begun;              // [row][kParts], before `end`
  Correction* corrections;  // [row][most_chunks]
  float* levels;            // null: not written
  std::int64_t levels_pitch;
  std::int32_t* levels_count;

  /// The chunk of a sample, counted from that of `begin`.
  __device__ std::int64_t chunk_of(std::int64_t sample) const {
    return floor_div(*x_first_at + sample, kChunk) - floor_div(*x_first_at + begin, kChunk);
  }
  /// The first sample of a chunk; it may come before `begin`.
  __device__ std::int64_t first_of(std::int64_t chunk) const {
    return (floor_div(*x_first_at + begin, kChunk) + chunk) * kChunk - *x_first_at;
  }
};

/// In the first thread of a warp.
__device__ Sums total(Sums s) {
  for (int step = kParts / 2; step > 0; step /= 2)
    for (double* v : {&s.count, &s.re, &s.im, &s.square_re, &s.square_im, &s.power})
      *v += __shfl_down_sync(~0U, *v, static_cast<unsigned>(step));
  return s;
}

/// A warp for each chunk, up to the one that `end` is in.
__global__ void __launch_bounds__(kParts) sum_chunks(const Job job) {
  const auto chunk = static_cast<std::int64_t>(blockIdx.x);
  const auto part = static_cast<int>(threadIdx.x);
  const std::int64_t last = job.chunk_of(job.end);
  if (chunk > last) return;
  const float2* const x = job.x.row(blockIdx.y).data();
  const std::int64_t first = job.first_of(chunk), stop = min(first + kChunk, job.end);
  Sums sums;
  if (chunk == 0 && job.before) sums = job.before[blockIdx.y].begun[part];
  for (std::int64_t n = first + part; n < stop; n += kParts)
    if (n >= job.begin) sums.add(x[n].x, x[n].y);
  if (chunk == last) job.begun[blockIdx.y * kParts + threadIdx.x] = sums;
  const Sums all = total(sums);
  if (part == 0) job.chunks[blockIdx.y * job.most_chunks + chunk] = all;
}

/// From chunk to chunk: kParts threads for each row. The first computes.
__global__ void __launch_bounds__(kParts) find_corrections(const Job job) {
  const std::int64_t row = blockIdx.x, last = job.chunk_of(job.end);
  const Sums* const chunks = job.chunks + row * job.most_chunks;
  Correction* const corrections = job.corrections + row * job.most_chunks;
  if (threadIdx.x == 0) {
    Past past;
    if (job.before) past = job.before[row].past;
    for (std::int64_t c = 0; c <= last; ++c) {
      corrections[c] = past.now;
      if (job.averaging.by_block || c < last) past.add(chunks[c], job.averaging.keeps);
    }
    if (job.averaging.by_block) corrections[0] = past.now;
    if (job.after) job.after[row].past = past;
    *job.levels_count = 1;
    if (job.levels) write_levels(past.now, job.levels + row * job.levels_pitch);
  }
  if (job.after) job.after[row].begun[threadIdx.x] = job.begun[row * kParts + threadIdx.x];
}

/// y begins with the sample `begin` of x.
__global__ void __launch_bounds__(kThreads) correct_samples(const Job job, View<float2, 2> y, std::int64_t begin) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= y.extent(1)) return;
  const std::int64_t n = begin + i, chunk = job.averaging.by_block ? 0 : job.chunk_of(n);
  float2 sample = job.x.row(blockIdx.y).data()[n];
  job.corrections[blockIdx.y * job.most_chunks + chunk].apply(sample.x, sample.y);
  y.row(blockIdx.y).data()[i] = sample;
}

struct Room {
  std::int64_t rows;
  std::int64_t most_chunks;
  Scratch scratch;
  Sums* chunks = scratch.take<Sums>(rows * most_chunks);
  Sums* begun = scratch.take<Sums>(rows * kParts);
  State* beyond = scratch.take<State>(rows);
  Correction* corrections = scratch.take<Correction>(rows * most_chunks);
};

class Run final : public StageRun {
 public:
  Run(const Averaging& averaging, std::int64_t rows, std::int64_t most_new)
      : averaging_(averaging), rows_(rows), piece_(std::max(most_new, kChunk)) {}

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0], &levels = io.out[1];
    const cudaStream_t stream = gpu::stream_of(view);
    const Room all = room(io.device_scratch);
    Job job{.x = in.as<const float2>(),
            .x_first_at = in.first_at,
            .averaging = averaging_,
            .most_chunks = all.most_chunks,
            .chunks = all.chunks,
            .begun = all.begun,
            .corrections = all.corrections,
            .levels = levels.row<float>(),
            .levels_pitch = levels.pitch / static_cast<std::int64_t>(sizeof(float)),
            .levels_count = levels.count};
    const std::int64_t first = out.first - in.first, end = out.end() - in.first;
    job.begin = io.first_new - in.first, job.end = io.end_new - in.first;
    if (averaging_.by_block) {
      estimate(job, stream);
      return correct(job, out, first, end, first, stream);
    }
    // The new part is one piece, which sets the carry; output beyond it continues from there.
    auto* const carry = reinterpret_cast<State*>(io.carry);
    job.begin = first, job.end = std::min(job.end, end);
    job.before = io.fresh ? nullptr : carry, job.after = carry;
    estimate(job, stream);
    correct(job, out, job.begin, job.end, first, stream);
    job.before = carry, job.after = all.beyond, job.levels = nullptr;
    for (job.begin = job.end; job.begin < end; job.begin = job.end, job.before = all.beyond) {
      job.end = std::min(job.begin + piece_, end);
      estimate(job, stream);
      correct(job, out, job.begin, job.end, first, stream);
    }
  }

 private:
  Room room(std::byte* memory) const noexcept { return {rows_, piece_ / kChunk + 2, Scratch(memory)}; }
  void estimate(const Job& job, cudaStream_t stream) const noexcept {
    const auto rows = static_cast<unsigned>(rows_);
    const auto chunks = static_cast<unsigned>((job.end - job.begin) / kChunk + 2);
    sum_chunks<<<dim3(chunks, rows), kParts, 0, stream>>>(job);
    find_corrections<<<rows, kParts, 0, stream>>>(job);
  }
  /// The samples at begin … end-1 of x; y's first is the sample `first`.
  void correct(const Job& job, const PortIo& out, std::int64_t begin, std::int64_t end, std::int64_t first,
               cudaStream_t stream) const noexcept {
    const dim3 grid(gpu::groups_of(end - begin, kThreads), static_cast<unsigned>(rows_));
    View<float2, 2> y = out.as<float2>();
    y = View<float2, 2>(y.data() + (begin - first), {rows_, end - begin},
                        out.pitch / static_cast<std::int64_t>(sizeof(float2)));
    if (grid.x > 0) correct_samples<<<grid, kThreads, 0, stream>>>(job, y, begin);
  }

  Averaging averaging_;
  std::int64_t rows_;
  std::int64_t piece_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::iq_correct
