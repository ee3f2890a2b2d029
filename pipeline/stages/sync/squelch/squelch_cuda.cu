// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// For each row: where it is loud, by sums of cells of the power; where the gate is open, by sums of loud samples; the
// gate, by sums of open ones. Then one thread block counts the openings.
#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/moving_sum.cuh"
#include "pipeline/stages/sync/group_sums.cuh"
#include "pipeline/stages/sync/squelch/squelch.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::squelch {
namespace {

using dsp::Cells;
using dsp::kSumThreads;
using dsp::Places;

constexpr int kCountThreads = 1024;

struct Power {
  const float2* x;
  __device__ double operator()(std::int64_t n) const { return dsp::power_of(x[n].x, x[n].y); }
};
/// 1 or 0 for each sample from `first` on.
struct Flags {
  std::uint8_t* memory;
  std::int64_t first;
  __device__ int operator()(std::int64_t n) const { return memory[n - first]; }
};

__device__ std::int64_t thread_index() {
  return std::int64_t{blockIdx.x} * kSumThreads + threadIdx.x;
}

__global__ void __launch_bounds__(kSumThreads) find_loud(Gate gate, Power power, Places places, std::int64_t length,
                                                         const double* cells, Flags loud, std::int64_t count) {
  const Cells at(places);
  const std::int64_t i = thread_index(), n = loud.first + i;
  if (i >= count) return;
  const double energy = at.sum(power, cells, n - gate.window + 1, n + 1);
  loud.memory[i] = gate.loud(n, {0, length}, energy) ? 1 : 0;
}

__global__ void __launch_bounds__(kSumThreads)
    find_open(Gate gate, Flags loud, Places places, const int* cells, Flags open, std::int64_t count) {
  const Cells at(places);
  const std::int64_t i = thread_index(), n = open.first + i;
  if (i < count) open.memory[i] = at.sum(loud, cells, n - gate.hold, n + 1) > 0 ? 1 : 0;
}

/// y and g begin at the sample `begin`.
__global__ void __launch_bounds__(kSumThreads)
    shut_samples(Gate gate, Flags open, Places places, const int* cells, const float2* x, float2* y, float* g,
                 std::int64_t begin, std::int64_t count) {
  const Cells at(places);
  const std::int64_t i = thread_index(), n = begin + i;
  if (i >= count) return;
  const float share = gate.share(at.sum(open, cells, n - gate.ramp + 1, n + 1));
  const float2 sample = x[n];
  y[i] = {gated(sample.x, share), gated(sample.y, share)};
  if (g) g[i] = share;
}

/// By one thread block: counts the openings at begin … end-1. Starts from 0 if `begins`, else adds to *openings.
__global__ void __launch_bounds__(kCountThreads)
    count_openings(Flags open, std::int64_t begin, std::int64_t end, bool begins, std::int64_t* openings) {
  __shared__ std::int64_t memory[kCountThreads / dsp::kWarp];
  std::int64_t count = 0, total;
  for (std::int64_t n = begin + threadIdx.x; n < end; n += kCountThreads)
    count += open(n) != 0 && (n == open.first || open(n - 1) == 0) ? 1 : 0;
  dsp::scan<kCountThreads>(count, memory, total);
  if (threadIdx.x == 0) *openings = total + (begins ? 0 : *openings);
}

__global__ void set_count(std::int32_t* count) {
  *count = 1;
}

struct Room {
  const Gate& gate;
  std::int64_t piece;
  Scratch scratch;
  std::int64_t opens = piece + gate.ramp;
  std::int64_t louds = opens + gate.hold;
  std::uint8_t* loud = scratch.take<std::uint8_t>(louds);
  std::uint8_t* open = scratch.take<std::uint8_t>(opens);
  double* power_cells = scratch.take<double>(Places{nullptr, 0, louds + gate.window}.most_cells());
  int* loud_cells = scratch.take<int>(Places{nullptr, 0, louds}.most_cells());
  int* open_cells = scratch.take<int>(Places{nullptr, 0, opens}.most_cells());
};

/// A piece of a row: the samples begin … end-1 of x.
struct Piece {
  const float2* x;
  float2* y;
  float* g;
  std::int64_t begin;
  std::int64_t end;
  bool begins;  // it is the first of the block
};

class Run final : public StageRun {
 public:
  Run(const Gate& gate, std::int64_t most_new) : gate_(gate), piece_(std::max(most_new, gate.past())) {}

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{gate_, piece_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[kSamples], &gate = io.out[kGate];
    const cudaStream_t stream = gpu::stream_of(view);
    set_count<<<1, 1, 0, stream>>>(io.out[kTally].count);
    if (out.length == 0 || out.rows == 0) cudaMemsetAsync(io.out[kTally].data, 0, sizeof(std::int64_t), stream);
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t done = 0; done < out.length; done += piece_) {
        const std::int64_t begin = out.first - in.first + done;
        float* const g = gate.row<float>(row);
        run(io,
            {in.row<const float2>(row), out.row<float2>(row) + done, g ? g + done : nullptr, begin,
             begin + std::min(piece_, out.length - done), row == 0 && done == 0},
            stream);
      }
  }

 private:
  void run(const StageIo& io, const Piece& piece, cudaStream_t stream) const noexcept {
    const PortIo& in = io.in[0];
    const Room room{gate_, piece_, Scratch(io.device_scratch)};
    const auto groups = [](std::int64_t n) { return gpu::groups_of(n, kSumThreads); };
    const std::int64_t count = piece.end - piece.begin;
    const Places opens{in.first_at, std::max<std::int64_t>(0, piece.begin - gate_.ramp), piece.end};
    const Places louds{in.first_at, std::max<std::int64_t>(0, opens.first - gate_.hold), piece.end};
    const Places powers{in.first_at, std::max<std::int64_t>(0, louds.first - gate_.window + 1), piece.end};
    const Power power{piece.x};
    const Flags loud{room.loud, louds.first}, open{room.open, opens.first};
    dsp::launch_cells(power, powers, room.power_cells, stream);
    find_loud<<<groups(louds.end - louds.first), kSumThreads, 0, stream>>>(
        gate_, power, powers, in.length, room.power_cells, loud, louds.end - louds.first);
    dsp::launch_cells(loud, louds, room.loud_cells, stream);
    find_open<<<groups(opens.end - opens.first), kSumThreads, 0, stream>>>(gate_, loud, louds, room.loud_cells, open,
                                                                           opens.end - opens.first);
    dsp::launch_cells(open, opens, room.open_cells, stream);
    shut_samples<<<groups(count), kSumThreads, 0, stream>>>(gate_, open, opens, room.open_cells, piece.x, piece.y,
                                                            piece.g, piece.begin, count);
    count_openings<<<1, kCountThreads, 0, stream>>>(open, std::max(piece.begin, io.first_new - in.first),
                                                    std::min(piece.end, io.end_new - in.first), piece.begins,
                                                    reinterpret_cast<std::int64_t*>(io.out[kTally].data));
  }

  Gate gate_;
  std::int64_t piece_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::squelch
