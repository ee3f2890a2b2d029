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

constexpr int kLevels = static_cast<int>(acpr_meter::kLevels.size());

/// Pieces of scratch at multiples of 256, if scratch begins at one.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T> T* take(std::int64_t count) {
    std::byte* const piece = memory_ + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(piece);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup)
      : setup_(setup), functions_(setup.orders), applied_(setup_.applied), plans_(transform_size(setup.samples)) {
    if (setup.bands) meter_.emplace(*setup.bands, setup.size, setup.average);
  }

  std::size_t device_scratch_bytes() const noexcept override { return place(nullptr).bytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const Place place = this->place(io.device_scratch);
    Job job = place.job;
    const Positions both = io.new_in_all();
    job.n = std::min(setup_.samples, both.length());
    const auto new_samples = [&](const PortIo& port) {
      return reinterpret_cast<const cf32*>(port.data) + (both.first - port.first);
    };
    job.z = new_samples(io.in[0]);
    job.s = new_samples(io.in[1]);
    job.coefficients = reinterpret_cast<cf32*>(io.out[kCoefficients].data);
    job.values = reinterpret_cast<float*>(io.out[kReport].data);
    job.events = reinterpret_cast<std::int64_t*>(io.out[kEvents].data);
    job.coefficients_count = io.out[kCoefficients].count;
    job.report_count = io.out[kReport].count;
    job.events_count = io.out[kEvents].count;
    job.is_metered = meter_ && measure(job, job.s, 0, place, stream);
    align(job, place, stream);
    fit(job, stream);
    compare_coefficients<<<kGroups, kThreads, 0, stream>>>(job);
    if (job.is_metered) {
      measure(job, job.z, 1, place, stream);
      measure(job, job.errors, 2, place, stream);
    }
    conclude<<<1, kThreads, 0, stream>>>(job);
  }

 private:
  struct Place {
    Job job;
    std::byte* work;  // of transforms
    std::byte* meter;
    std::size_t bytes;
  };

  Place place(std::byte* scratch) const noexcept {
    const std::int64_t c = setup_.orders.coefficients(), edges = functions_.count * setup_.orders.taps;
    const std::int64_t sums = (functions_.count + 2) * edges;
    Pieces pieces(scratch);
    Place p{};
    p.job.size = plans_.size();
    p.job.search = setup_.search;
    p.job.gain = setup_.gain;
    p.job.above = setup_.above;
    p.job.orders = setup_.orders;
    p.job.functions = functions_;
    p.job.told = setup_.told;
    p.job.applied = applied_.data();
    p.work = pieces.take<std::byte>(static_cast<std::int64_t>(plans_.work_bytes()));
    p.meter = pieces.take<std::byte>(meter_ ? static_cast<std::int64_t>(meter_->scratch_bytes()) : 0);
    p.job.record = pieces.take<Record>(1);
    p.job.partials = pieces.take<double>(kFits * kGroups * std::max<std::int64_t>(4 * sums, 16));
    p.job.spectra = pieces.take<cf32>(4 * plans_.size());
    p.job.u = pieces.take<Complex64>(kFits * setup_.samples);
    p.job.sums = pieces.take<Sums>(kFits * sums);
    p.job.edges = pieces.take<Complex64>(kFits * 2 * edges);
    p.job.matrices = pieces.take<Complex64>(kFits * c * c);
    p.job.h = pieces.take<Complex64>(kFits * c);
    p.job.diagonals = pieces.take<double>(kFits * 2 * c);
    p.job.trained = pieces.take<cf32>(kFits * c);
    p.job.errors = pieces.take<cf32>(meter_ ? setup_.samples : 0);
    p.job.levels = pieces.take<float>(3 * kLevels);
    p.bytes = pieces.used();
    return p;
  }

  bool measure(const Job& job, const cf32* x, int which, const Place& place, cudaStream_t stream) const noexcept {
    return meter_->run(reinterpret_cast<const float2*>(x), job.n, job.levels + which * kLevels, nullptr, place.meter,
                       stream) > 0;
  }

  void align(const Job& job, const Place& place, cudaStream_t stream) const noexcept {
    look<<<kGroups, kThreads, 0, stream>>>(job);
    count_rail<<<kGroups, kThreads, 0, stream>>>(job);
    judge_look<<<1, kThreads, 0, stream>>>(job);
    load_signals<<<kGroups, kThreads, 0, stream>>>(job);
    plans_.run(job.spectra, job.spectra, 3, false, place.work, stream);
    multiply_spectra<<<kGroups, kThreads, 0, stream>>>(job);
    plans_.run(job.spectra + 2 * job.size, job.spectra + 3 * job.size, 1, true, place.work, stream);
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
