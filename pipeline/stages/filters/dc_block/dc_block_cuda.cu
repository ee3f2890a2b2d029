// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Four kernels a row: sums of cells, the moving sum, sums of its cells, and the output.
#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/dc_block/dc_block.hpp"
#include "pipeline/stages/moving_sum.cuh"
#include "signal/filters/scratch.hpp"

namespace iqd::dc_block {
namespace {

using dsp::Cells;
using dsp::ComplexSum;
using dsp::kSumThreads;
using dsp::Places;

__device__ double widened(float x) {
  return x;
}
__device__ ComplexSum widened(float2 x) {
  return {x.x, x.y};
}
__device__ float without(float x, double sum, double weight) {
  return static_cast<float>(static_cast<double>(x) - sum / weight);
}
__device__ float2 without(float2 x, const ComplexSum& sum, double weight) {
  return {without(x.x, sum.re, weight), without(x.y, sum.im, weight)};
}

template <class Sample> struct Samples {
  const Sample* x;
  __device__ auto operator()(std::int64_t n) const { return widened(x[n]); }
};
/// Sums of the windows that begin at `first` and later.
template <class Sum> struct Sums {
  Sum* memory;
  std::int64_t first;
  __device__ Sum operator()(std::int64_t n) const { return memory[n - first]; }
};

/// Windows may begin before the stream does: then the sum is over the part that exists.
template <class Sample, class Sum> __global__ void __launch_bounds__(kSumThreads)
    sum_windows(std::int64_t length, Samples<Sample> samples, Places places, const Sum* cells, Sums<Sum> sums,
                std::int64_t count) {
  const Cells at(places);
  const std::int64_t i = std::int64_t{blockIdx.x} * kSumThreads + threadIdx.x, n = sums.first + i;
  if (i < count) sums.memory[i] = at.sum(samples, cells, n, n + length);
}

/// y begins at the sample `begin` of x.
template <class Sample, class Sum> __global__ void __launch_bounds__(kSumThreads)
    subtract_level(std::int64_t length, Samples<Sample> samples, std::int64_t available, Places places,
                   const Sum* cells, Sums<Sum> sums, Sample* y, std::int64_t begin, std::int64_t count) {
  const Cells at(places);
  const std::int64_t i = std::int64_t{blockIdx.x} * kSumThreads + threadIdx.x, n = begin + i;
  if (i >= count) return;
  const Sum sum = at.sum(sums, cells, n - length + 1, n + 1);
  y[i] = without(samples.x[n], sum, weight_of(length, n, available - 1 - n));
}

template <class Sum> struct Room {
  std::int64_t length;
  std::int64_t piece;
  Scratch scratch;
  Sum* sums = scratch.take<Sum>(piece + length);
  Sum* cells = scratch.take<Sum>(Places{nullptr, 0, piece + 2 * length}.most_cells());
  Sum* sums_cells = scratch.take<Sum>(Places{nullptr, 0, piece + length}.most_cells());
};

template <class Sample, class Sum> class Run final : public StageRun {
 public:
  Run(std::int64_t length, std::int64_t most_new) : length_(length), piece_(std::max(most_new, length)) {}

  std::size_t device_scratch_bytes() const noexcept override {
    return Room<Sum>{length_, piece_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t done = 0; done < out.length; done += piece_)
        filter(in, in.row<const Sample>(row), out.row<Sample>(row) + done, out.first - in.first + done,
               std::min(piece_, out.length - done), io.device_scratch, gpu::stream_of(stream));
  }

 private:
  void filter(const PortIo& in, const Sample* x, Sample* y, std::int64_t begin, std::int64_t count, std::byte* scratch,
              cudaStream_t stream) const noexcept {
    const Room<Sum> room{length_, piece_, Scratch(scratch)};
    const std::int64_t first = begin - length_ + 1, windows = count + length_ - 1;
    const Places there{in.first_at, std::max<std::int64_t>(0, first),
                       std::min(in.length, first + windows + length_ - 1)};
    const Places summed{in.first_at, first, first + windows};
    const Samples<Sample> samples{x};
    const Sums<Sum> sums{room.sums, first};
    dsp::launch_cells(samples, there, room.cells, stream);
    sum_windows<Sample, Sum><<<gpu::groups_of(windows, kSumThreads), kSumThreads, 0, stream>>>(
        length_, samples, there, room.cells, sums, windows);
    dsp::launch_cells(sums, summed, room.sums_cells, stream);
    subtract_level<Sample, Sum><<<gpu::groups_of(count, kSumThreads), kSumThreads, 0, stream>>>(
        length_, samples, in.length, summed, room.sums_cells, sums, y, begin, count);
  }

  std::int64_t length_;
  std::int64_t piece_;
};

std::unique_ptr<StageRun> make(std::int64_t length, Element element, std::int64_t most_new) {
  if (element == Element::cf32) return std::make_unique<Run<float2, ComplexSum>>(length, most_new);
  return std::make_unique<Run<float, double>>(length, most_new);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::dc_block
