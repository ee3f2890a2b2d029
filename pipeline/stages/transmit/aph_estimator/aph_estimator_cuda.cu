// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// All sums are in an order that depends only on lengths, so the same block gives the same bits.
#include <algorithm>
#include <optional>

#include "gpu/device_array.hpp"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/aph_estimator/align.cuh"
#include "pipeline/stages/transmit/aph_estimator/conclude.cuh"
#include "pipeline/stages/transmit/aph_estimator/fit.cuh"
#include "pipeline/stages/transmit/aph_estimator/setup.hpp"
#include "pipeline/stages/transmit/aph_estimator/solve.cuh"
#include "pipeline/stages/transmit/channel_meter.cuh"

namespace iqd::aph_estimator {
namespace {

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup)
      : setup_(setup), functions_(setup.orders), applied_(setup_.applied), plans_(transform_size(setup.samples)) {
    if (setup.bands) meter_.emplace(*setup.bands, setup.size, setup.average);
  }

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    Job job{room(io.device_scratch)};
    job.search = setup_.search;
    job.gain = setup_.gain;
    job.above = setup_.above;
    job.told = setup_.told;
    job.applied = applied_.data();
    const Positions both = io.new_in_all();
    job.n = std::min(setup_.samples, both.length());
    const auto new_samples = [&](const PortIo& port) { return port.row<const cf32>() + (both.first - port.first); };
    job.z = new_samples(io.in[0]);
    job.s = new_samples(io.in[1]);
    job.coefficients = io.out[kCoefficients];
    job.values = io.out[kReport];
    job.events = io.out[kEvents];
    job.is_metered = meter_ && measure(job, job.s, 0, stream);
    align(job, stream);
    fit(job, stream);
    compare_coefficients<<<kGroups, kThreads, 0, stream>>>(job);
    if (job.is_metered) {
      measure(job, job.z, 1, stream);
      measure(job, job.errors, 2, stream);
    }
    conclude<<<1, kThreads, 0, stream>>>(job);
  }

 private:
  Room room(std::byte* memory) const noexcept {
    return {.orders = setup_.orders,
            .functions = functions_,
            .samples = setup_.samples,
            .size = plans_.size(),
            .work_bytes = plans_.work_bytes(),
            .meter_bytes = meter_ ? meter_->scratch_bytes() : 0,
            .scratch = Scratch(memory)};
  }

  bool measure(const Job& job, const cf32* x, int which, cudaStream_t stream) const noexcept {
    return meter_->run(reinterpret_cast<const float2*>(x), job.n, job.levels + which * kLevels, nullptr, job.meter,
                       stream) > 0;
  }

  void align(const Job& job, cudaStream_t stream) const noexcept {
    look<<<kGroups, kThreads, 0, stream>>>(job);
    count_rail<<<kGroups, kThreads, 0, stream>>>(job);
    judge_look<<<1, kThreads, 0, stream>>>(job);
    load_signals<<<kGroups, kThreads, 0, stream>>>(job);
    plans_.run(job.spectra, job.spectra, 3, false, job.work, stream);
    multiply_spectra<<<kGroups, kThreads, 0, stream>>>(job);
    plans_.run(job.spectra + 2 * job.size, job.spectra + 3 * job.size, 1, true, job.work, stream);
    find_peak<<<kGroups, kThreads, 0, stream>>>(job);
    take_peak<<<1, kThreads, 0, stream>>>(job);
    for (int i = 0; i < kClimbs; ++i) {
      add_points<<<kGroups, kThreads, 0, stream>>>(job, kBoth);
      climb<<<1, kThreads, 0, stream>>>(job, kBoth, false);
    }
    for (int i = 0; i < kHalfClimbs; ++i) {
      add_points<<<dim3(kGroups, 2), kThreads, 0, stream>>>(job, 0);
      climb<<<2, kThreads, 0, stream>>>(job, 0, i == 0);
    }
    compare_energies<<<kGroups, kThreads, 0, stream>>>(job);
    judge_alignment<<<1, kThreads, 0, stream>>>(job);
  }

  void fit(const Job& job, cudaStream_t stream) const noexcept {
    const dim3 all(kGroups, kFits), one(1, kFits);
    const dim3 numbers(gpu::groups_of(4 * job.assembly(0).sum_count(), kThreads), kFits);
    move<<<all, kThreads, 0, stream>>>(job);
    find_gain<<<one, kThreads, 0, stream>>>(job);
    scale_signal<<<all, kThreads, 0, stream>>>(job);
    add_products<<<all, kThreads, 0, stream>>>(job);
    gather_products<<<numbers, kThreads, 0, stream>>>(job);
    fill_equations<<<one, kThreads, 0, stream>>>(job);
    solve_equations<<<one, kThreads, 0, stream>>>(job);
    try_coefficients<<<all, kThreads, 0, stream>>>(job);
    choose_fit<<<1, kThreads, 0, stream>>>(job);
  }

  Setup setup_;
  Functions functions_;
  gpu::DeviceArray<cf32> applied_;
  gpu::FftPlans plans_;
  std::optional<acpr_meter::CudaMeter> meter_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::aph_estimator
