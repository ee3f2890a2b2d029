// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include <algorithm>
#include <utility>

#include "gpu/runtime.hpp"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"
#include "pipeline/stages/transmit/aph_predistorter/compared.cuh"
#include "pipeline/stages/transmit/aph_predistorter/job.cuh"

namespace iqd::aph_predistorter {
namespace {

template <class S, class In, class Out> __global__ void __launch_bounds__(kThreads)
    predistort(const __grid_constant__ Job job) {
  __shared__ Unit inputs[Tile::kInputUnits];
  __shared__ Unit outputs[Tile::kOutputUnits];
  const int thread = static_cast<int>(threadIdx.x);
  const int history = Tile::history(S::taps(job.model));
  const auto tiles = static_cast<int>((job.length + Tile::kOutputs - 1) / Tile::kOutputs);
  Watch watch;
  for (int t = static_cast<int>(blockIdx.x); t < tiles * job.rows; t += static_cast<int>(gridDim.x)) {
    const int row = t / tiles;
    const std::int64_t first = static_cast<std::int64_t>(t - row * tiles) * Tile::kOutputs;
    stage_inputs(job.x_at<In>(row, first), job.past + first, job.length - first, history, thread, inputs);
    __syncthreads();
    Complex z[Tile::kEach];
#pragma unroll
    for (Complex& one : z) one = job.model.constant;
    if constexpr (S::kTaps > 0)
      sum_up<S::kBranches, S::kTaps>(job.model, thread, inputs, z);
    else
      sum_up(job.model, thread, inputs, z);
    // The values in `outputs` were taken before the barrier above.
    limit_outputs<Out>(z, job.clip, first + thread * Tile::kEach, job.told, thread, outputs, watch);
    __syncthreads();
    store_outputs(outputs, thread, job.length - first, job.z_at<Out>(row, first));
  }
  leave(job, watch);
}

__global__ void __launch_bounds__(kThreads)
    tell(const Watch* watches, int n, const dsp::Items<float> peak, const dsp::Items<std::int64_t> events) {
  Watch watch;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) watch.add(watches[i]);
  watch = together<kThreads>(watch);
  if (threadIdx.x > 0) return;
  if (peak.data != nullptr) peak[0] = sqrtf(watch.largest);
  events[0] = watch.clipped;
  events[1] = watch.not_finite;
  *peak.count = *events.count = 1;
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup) : setup_(setup), piece_(std::min(setup.most_new, Between::kMostPiece)) {}

  std::size_t device_scratch_bytes() const noexcept override {
    const bool three = setup_.variant == Variant::three_kernels;
    return kWatchBytes + (three ? Between::bytes(setup_.model.branches, piece_) : 0);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const PortIo& out = io.out[kOut];
    const int watches = out.length > 0 && out.rows > 0 ? launch(job_of(io), io.device_scratch, stream) : 0;
    tell<<<1, kThreads, 0, stream>>>(reinterpret_cast<const Watch*>(io.device_scratch), watches, io.out[kPeak],
                                     io.out[kTally]);
  }

 private:
  static constexpr std::size_t kWatchBytes = gpu::round_256(kMostGroups * sizeof(Watch));

  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[kOut];
    const std::int64_t past = out.first - in.first;
    return {in.data + past * static_cast<std::int64_t>(size_of(setup_.in)),
            out.data,
            in.pitch,
            out.pitch,
            past,
            out.length,
            static_cast<int>(out.rows),
            {io.first_new - out.first, io.end_new - out.first},
            reinterpret_cast<Watch*>(io.device_scratch),
            setup_.clip,
            setup_.model};
  }

  /// Returns the number of watches written.
  int launch(const Job& job, std::byte* scratch, cudaStream_t stream) const noexcept {
    int watches = 0;
    with_sizes(setup_.model, [&]<class S>(S) {
      if (setup_.variant == Variant::three_kernels) {
        auto* const powers = reinterpret_cast<Complex*>(scratch + kWatchBytes);
        const Between between{powers, powers + setup_.model.branches * (Between::kHistory + piece_), piece_};
        watches = run_three_kernels<S>(job, between, stream);
      } else if (setup_.variant == Variant::paper) {
        const int each = 32 - (setup_.model.taps - 1);
        watches = groups_for(gpu::groups_of(job.length, each) * job.rows / (kThreads / 32) + 1);
        predistort_paper<S><<<watches, kThreads, 0, stream>>>(job);
      } else {
        watches = groups_for(static_cast<std::int64_t>(gpu::groups_of(job.length, Tile::kOutputs)) * job.rows);
        if (setup_.in == Element::cf32)
          predistort<S, Complex, Complex><<<watches, kThreads, 0, stream>>>(job);
        else if (setup_.out == Element::sc16)
          predistort<S, sc16, sc16><<<watches, kThreads, 0, stream>>>(job);
        else
          predistort<S, sc16, Complex><<<watches, kThreads, 0, stream>>>(job);
      }
    });
    return watches;
  }

  Setup setup_;
  std::int64_t piece_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::aph_predistorter
