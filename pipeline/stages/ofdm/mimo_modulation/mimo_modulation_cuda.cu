// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A thread block for each frame reads the numbers; one thread goes from frame to frame. Compiled with -fmad=false: all is
// rounded as on the CPU but the sums of the noise.
#include <algorithm>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/mimo_modulation/mimo_modulation.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_modulation {
namespace {

constexpr int kThreads = 256;

struct Job {
  Tables t;
  const float* carriers;
  const std::int32_t* found;
  std::int32_t* counts[3];
  Evidence* evidence;  // [frame][even carrier]
  Reading* readings;   // [frame][tx]
  std::uint8_t* modulation;
  float* margin;  // may be null
  std::int64_t* events;
  Memory* memory;  // may be null
  bool fresh;
};

/// The noise of one antenna, by all threads.
__device__ double noise_of_antenna(const Tables& t, const float* frame, int r, double* memory) {
  const auto thread = static_cast<int>(threadIdx.x);
  double alone = 0, training = 0;
  for (int i = thread; i < t.odds; i += kThreads) alone += square_of(frame + 2 * (std::int64_t{t.odd[i]} * t.rx + r));
  for (int i = thread; i < t.tx * t.carriers; i += kThreads)
    training += square_of(frame + 2 * ((std::int64_t{t.carriers} + i) * t.rx + r));
  alone = gpu::sum_of_group<kThreads>(alone, memory);
  training = gpu::sum_of_group<kThreads>(training, memory);
  return ofdm::noise_of(alone, t.odds, training, t.tx * t.carriers);
}

__global__ void __launch_bounds__(kThreads) read_frames(const Job job) {
  __shared__ double memory[kThreads / gpu::kWarp], noise[kMostAntennas];
  const Tables& t = job.t;
  const std::int64_t number = blockIdx.x;
  if (number >= *job.found) return;
  const float* const frame = job.carriers + 2 * number * t.frame();
  const auto thread = static_cast<int>(threadIdx.x);
  for (int r = 0; r < t.rx; ++r) {
    const double own = noise_of_antenna(t, frame, r, memory);
    if (thread == 0) noise[r] = own;
  }
  __syncthreads();
  Evidence* const evidence = job.evidence + number * t.evens;
  for (int i = thread; i < t.evens; i += kThreads) evidence[i] = weigh(t, frame, noise, i);
  __syncthreads();
  if (thread < t.tx) job.readings[number * t.tx + thread] = read_number(t, evidence, thread);
}

__global__ void settle_frames(const Job job) {
  const Tables& t = job.t;
  const std::int32_t found = *job.found;
  *job.counts[kModulation] = *job.counts[kMargin] = found;
  *job.counts[kTally] = 1;
  Memory memory;
  if (job.memory && !job.fresh)
    memory = *job.memory;
  else
    set_configured(t, memory);
  std::int64_t unclear = 0;
  for (std::int64_t f = 0; f < found; ++f)
    for (int a = 0; a < t.tx; ++a) {
      const Reading reading = t.announced ? job.readings[f * t.tx + a] : Reading{};
      unclear += !settle(t, reading, a, memory);
      job.modulation[f * t.tx + a] = memory.bits[a];
      if (job.margin) job.margin[f * t.tx + a] = reading.margin;
    }
  job.events[kFrames] = found;
  job.events[kUnclear] = unclear;
  if (job.memory) *job.memory = memory;
}

struct Room {
  const Tables& t;
  std::int64_t frames;
  Scratch scratch;
  Evidence* evidence = scratch.take<Evidence>(frames * t.evens);
  Reading* readings = scratch.take<Reading>(frames * t.tx);
};

template <class T> gpu::DeviceArray<T> on_device(const std::vector<T>& values) {
  return gpu::DeviceArray<T>(std::span<const T>(values));
}

class Run final : public StageRun {
 public:
  Run(const Design& design, std::int64_t most_frames)
      : t_(design.tables),
        most_(most_frames),
        training_(on_device(design.training)),
        uncover_(on_device(design.uncover)),
        ramp_(on_device(design.ramp)),
        sent_(on_device(design.sent)),
        signs_(on_device(design.signs)),
        odd_(on_device(design.odd)),
        even_(on_device(design.even)) {
    t_.training = training_.data();
    t_.uncover = uncover_.data();
    t_.ramp = ramp_.data();
    t_.sent = sent_.data();
    t_.signs = signs_.data();
    t_.odd = odd_.data();
    t_.even = even_.data();
    gpu::load_kernels("loading mimo_modulation", read_frames, settle_frames);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{t_, most_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const Room room{t_, most_, Scratch(io.device_scratch)};
    const Job job{.t = t_,
                  .carriers = io.in[0].row<const float>(),
                  .found = io.in[0].count,
                  .counts = {io.out[kModulation].count, io.out[kMargin].count, io.out[kTally].count},
                  .evidence = room.evidence,
                  .readings = room.readings,
                  .modulation = io.out[kModulation].row<std::uint8_t>(),
                  .margin = io.out[kMargin].row<float>(),
                  .events = io.out[kTally].row<std::int64_t>(),
                  .memory = reinterpret_cast<Memory*>(io.carry),
                  .fresh = io.fresh};
    const std::int64_t frames = std::min(most_, io.in[0].length);
    if (frames > 0 && t_.announced) read_frames<<<static_cast<unsigned>(frames), kThreads, 0, stream>>>(job);
    settle_frames<<<1, 1, 0, stream>>>(job);
  }

 private:
  Tables t_;
  std::int64_t most_;
  gpu::DeviceArray<float> training_, uncover_, ramp_, sent_, signs_;
  gpu::DeviceArray<std::int32_t> odd_, even_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::mimo_modulation
