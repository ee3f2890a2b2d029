// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Seven kernels: sums over steps; the grid points whose halves are most alike; their training symbols; choosing frames;
// the power profiles of their channels; starts and offsets; copying. Everything is in the order of the stream, so no
// result depends on which thread block runs first.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/find_candidates.cuh"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/place_frames.cuh"
#include "signal/filters/scratch.hpp"

namespace iqd::ofdm_sync {
namespace {

/// Memory between the kernels, for a block of `length` samples, `fresh` of them new.
struct Room {
  Room(const Grid& g, std::int64_t length, std::int64_t fresh, std::byte* memory)
      : cell_count(ceil_div(g.places(length, 0), kCell)),
        most_chosen((fresh + g.lag + g.reach()) / ((g.half + 1) * g.step) + 1),
        sum_pitch(length / g.step + 1),
        scratch(memory) {
    const std::int64_t spectra = g.antennas * g.tx;
    lead = scratch.take<std::int64_t>(1);
    sums = scratch.take<float>(kSums * g.antennas * sum_pitch);
    cells = scratch.take<Cell>(cell_count);
    fits = scratch.take<Complex>(cell_count * spectra * g.hypotheses());
    chosen = scratch.take<Chosen>(most_chosen);
    chosen_count = scratch.take<int>(1);
    profiles = scratch.take<float>(most_chosen * spectra * g.fft);
    measured = scratch.take<Measured>(most_chosen);
  }
  std::int64_t cell_count;
  std::int64_t most_chosen;  // frames are more than half a frame apart
  std::int64_t sum_pitch;
  Scratch scratch;
  std::int64_t* lead;
  float* sums;
  Cell* cells;
  Complex* fits;
  Chosen* chosen;
  int* chosen_count;
  float* profiles;
  Measured* measured;
};

/// The kernels that contain a transform.
struct Transforms {
  void (*fit)(Job) = nullptr;
  void (*profile)(Job) = nullptr;
  unsigned frames = 1;  // of a thread block
  unsigned threads = 1;
  unsigned bytes = 0;
};
template <class Sample> Transforms transforms_for(std::int64_t size) {
  const auto of_size = [](auto n) {
    using Group = gpu::FftGroup<n()>;
    return Transforms{fit_candidates<n(), Sample>, make_profiles<n(), Sample>, Group::kFrames, Group::kThreads,
                      Group::kBytes};
  };
  return gpu::with_fft_size(size, of_size, std::integer_sequence<int, 5, 6, 7, 8, 9, 10, 11, 12>());  // 64 … 8192
}

template <class Sample> class Run final : public StageRun {
 public:
  Run(const Pattern& pattern, std::int64_t most_new)
      : grid_(pattern.grid),
        longest_(grid_.past() + most_new + grid_.future()),
        most_new_(most_new),
        transforms_(transforms_for<Sample>(grid_.fft)),
        pairs_(std::span(pattern.pairs)),
        training_(std::span(pattern.training)),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(grid_.fft)))) {
    for (const auto kernel : {transforms_.fit, transforms_.profile})
      gpu::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(transforms_.bytes)),
                 "shared memory of a transform");
    cudaFuncAttributes loaded;  // the query loads the code before samples flow
    for (const auto kernel :
         {sum_steps<Sample>, find_candidates, choose_frames, measure_frames<Sample>, place_frames<Sample>})
      gpu::check(cudaFuncGetAttributes(&loaded, kernel), "loading ofdm_sync");
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room(grid_, longest_, most_new_, nullptr).scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto stream = gpu::stream_of(view);
    const Job job = job_of(io);
    const auto antennas = static_cast<unsigned>(grid_.antennas);
    const auto chosen = static_cast<unsigned>(job.most_chosen);
    const unsigned spectra = gpu::groups_of(job.spectra(), transforms_.frames);
    const Transforms& t = transforms_;
    if (job.cell_count > 0) {
      const unsigned steps = gpu::groups_of(job.length / grid_.step, kThreads / parts_of(grid_));
      const auto cells = static_cast<unsigned>(job.cell_count);
      sum_steps<Sample><<<dim3(steps, antennas), kThreads, 0, stream>>>(job);
      find_candidates<<<gpu::groups_of(job.cell_count * kCell, kCore), kThreads, 0, stream>>>(job);
      t.fit<<<dim3(cells, spectra), t.threads, t.bytes, stream>>>(job);
    }
    choose_frames<<<1, kChoosers, 0, stream>>>(job);
    t.profile<<<dim3(chosen, spectra), t.threads, t.bytes, stream>>>(job);
    const auto power_bytes = static_cast<unsigned>(grid_.fft * static_cast<std::int64_t>(sizeof(float)));
    measure_frames<Sample><<<chosen, kMeasurers, power_bytes, stream>>>(job);
    const unsigned tiles = gpu::groups_of(grid_.frame, kTile);
    place_frames<Sample><<<dim3(chosen * tiles, antennas), kThreads, 0, stream>>>(job);
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const Range seen = seen_of(grid_, io);
    Job job{};
    job.x = in.data + seen.first * static_cast<std::int64_t>(sizeof(Sample));
    job.pitch = in.pitch;
    job.length = seen.length();
    job.first_at = in.first_at;
    job.skipped = seen.first;
    job.fresh = {io.first_new - in.first - seen.first, io.end_new - in.first - seen.first};
    job.grid = grid_;
    job.pairs = pairs_.data();
    job.training = training_.data();
    job.factors = factors_.data();
    const Room room(grid_, job.length, job.fresh.length(), io.device_scratch);
    job.lead = room.lead;
    job.sums = room.sums;
    job.sum_pitch = room.sum_pitch;
    job.cells = room.cells;
    job.cell_count = room.cell_count;
    job.fits = room.fits;
    job.chosen = room.chosen;
    job.chosen_count = room.chosen_count;
    job.most_chosen = room.most_chosen;
    job.profiles = room.profiles;
    job.measured = room.measured;
    set_outputs(job, io);
    return job;
  }

  static void set_outputs(Job& job, const StageIo& io) noexcept {
    job.most = io.out[kFrames].length;
    job.frames = reinterpret_cast<float2*>(io.out[kFrames].data);
    job.start = reinterpret_cast<std::int64_t*>(io.out[kStart].data);
    job.offset_hz = reinterpret_cast<float*>(io.out[kOffset].data);
    job.metric = reinterpret_cast<float*>(io.out[kMetric].data);
    job.events = reinterpret_cast<std::int64_t*>(io.out[kTally].data);
    job.frame_count = io.out[kFrames].count;
    job.start_count = io.out[kStart].count;
    job.offset_count = io.out[kOffset].count;
    job.metric_count = io.out[kMetric].count;
    job.event_count = io.out[kTally].count;
  }

  Grid grid_;
  std::int64_t longest_;
  std::int64_t most_new_;
  Transforms transforms_;
  gpu::DeviceArray<float> pairs_;
  gpu::DeviceArray<float> training_;
  gpu::DeviceArray<Complex32> factors_;
};

std::unique_ptr<StageRun> make(const Pattern& pattern, std::int64_t most_new, Element element) {
  if (element == Element::sc16) return std::make_unique<Run<short2>>(pattern, most_new);
  return std::make_unique<Run<float2>>(pattern, most_new);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::ofdm_sync
