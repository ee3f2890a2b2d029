// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Seven kernels: sums over steps; the grid points whose halves are most alike; their training symbols; choosing frames;
// the power profiles of their channels; starts and offsets; copying. With `reject_tones`, an eighth behind the first:
// the halves of each antenna. Everything is in the order of the stream, so no result depends on which thread block runs
// first.
#include <algorithm>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/find_candidates.cuh"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/place_frames.cuh"

namespace iqd::ofdm_sync {
namespace {

/// The kernels that contain a transform.
struct Transforms {
  gpu::FftKernel<Job> fit;
  gpu::FftKernel<Job> profile;
};
template <class Sample> Transforms transforms_for(std::int64_t size) {
  const auto of_size = [](auto n) -> Transforms {
    return {gpu::fft_kernel<n()>(fit_candidates<n(), Sample>), gpu::fft_kernel<n()>(make_profiles<n(), Sample>)};
  };
  return gpu::with_fft_size(size, of_size, gpu::FromSixtyFour());
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
    for (const auto& kernel : {transforms_.fit, transforms_.profile}) kernel.allow("shared memory of a transform");
    gpu::load_kernels("loading ofdm_sync", sum_steps<Sample>, compare_halves, find_candidates<false>,
                      find_candidates<true>, choose_frames, measure_frames<Sample, false>, measure_frames<Sample, true>,
                      place_frames<Sample>);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{grid_, longest_, most_new_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto stream = gpu::stream_of(view);
    const Job job = job_of(io);
    const auto antennas = static_cast<unsigned>(grid_.antennas);
    const auto chosen = static_cast<unsigned>(job.most_chosen);
    const unsigned spectra = gpu::groups_of(job.spectra(), transforms_.fit.frames);
    if (job.cell_count > 0) {
      const unsigned steps = gpu::groups_of(job.length / grid_.step, kThreads / parts_of(grid_));
      const auto cells = static_cast<unsigned>(job.cell_count);
      sum_steps<Sample><<<dim3(steps, antennas), kThreads, 0, stream>>>(job);
      const unsigned cores = gpu::groups_of(job.cell_count * grid_.nearby, kCore);
      if (grid_.rejects_tones()) {
        const unsigned compared = gpu::groups_of(grid_.halves(job.length, 0), kThreads);
        compare_halves<<<dim3(compared, antennas), kThreads, 0, stream>>>(job);
        find_candidates<true><<<cores, kThreads, 0, stream>>>(job);
      } else {
        find_candidates<false><<<cores, kThreads, 0, stream>>>(job);
      }
      transforms_.fit.launch(dim3(cells, spectra), stream, job);
    }
    choose_frames<<<1, kChoosers, 0, stream>>>(job);
    transforms_.profile.launch(dim3(chosen, spectra), stream, job);
    const auto power_bytes = static_cast<unsigned>(grid_.fft * static_cast<std::int64_t>(sizeof(float)));
    if (grid_.rejects_tones())
      measure_frames<Sample, true><<<chosen, kMeasurers, power_bytes, stream>>>(job);
    else
      measure_frames<Sample, false><<<chosen, kMeasurers, power_bytes, stream>>>(job);
    const unsigned tiles = gpu::groups_of(grid_.given(), kTile);
    place_frames<Sample><<<dim3(chosen * tiles, antennas), kThreads, 0, stream>>>(job);
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const Positions seen = seen_of(grid_, io);
    Job job{{grid_, seen.length(), io.end_new - io.first_new, Scratch(io.device_scratch)}};
    job.x = in.data + seen.first * static_cast<std::int64_t>(sizeof(Sample));
    job.pitch = in.pitch;
    job.first_at = in.first_at;
    job.skipped = seen.first;
    job.fresh = {io.first_new - in.first - seen.first, io.end_new - in.first - seen.first};
    job.pairs = pairs_.data();
    job.training = training_.data();
    job.factors = factors_.data();
    job.frames = io.out[kFrames];
    job.start = io.out[kStart];
    job.offset_hz = io.out[kOffset];
    job.metric = io.out[kMetric];
    job.events = io.out[kTally];
    return job;
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
