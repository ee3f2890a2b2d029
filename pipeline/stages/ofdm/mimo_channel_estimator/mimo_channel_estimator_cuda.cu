// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU. Sums over carriers are in double precision,
// where products of floats are exact, so the order hardly matters.
#include <algorithm>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/apply_channel.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/measure_frames.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

std::vector<float2> pairs_of(const std::vector<cf32>& values) {
  std::vector<float2> pairs;
  for (const cf32 v : values) pairs.push_back({v.real(), v.imag()});
  return pairs;
}
template <class T> gpu::DeviceArray<T> on_device(const std::vector<T>& values) {
  return gpu::DeviceArray<T>(std::span<const T>(values));
}

class Run final : public StageRun {
 public:
  Run(const Design& design, std::int64_t most)
      : known_(on_device(pairs_of(design.known))),
        ramp_(on_device(pairs_of(design.ramp))),
        uncover_(on_device(pairs_of(design.uncover))),
        pilot_weights_(on_device(pairs_of(design.pilot_weights))),
        taps_(on_device(design.taps)),
        pilot_signs_(on_device(design.pilot_signs)),
        first_(on_device(design.first)),
        odd_(on_device(design.odd)),
        pilot_(on_device(design.pilot)),
        data_(on_device(design.data)),
        place_(on_device(design.place)),
        most_(most) {
    job_.e = design.extents;
    job_.known = {known_.data(),       ramp_.data(),
                  uncover_.data(),     taps_.data(),
                  first_.data(),       pilot_.data(),
                  data_.data(),        place_.data(),
                  odd_.data(),         static_cast<std::int32_t>(design.odd.size()),
                  pilot_signs_.data(), pilot_weights_.data()};
    cudaFuncAttributes loaded;  // the query loads the code before samples flow
    for (const auto kernel : {measure_symbols, fit_frames, estimate_channel, write_vectors})
      gpu::check(cudaFuncGetAttributes(&loaded, kernel), "loading mimo_channel_estimator");
  }

  std::size_t device_scratch_bytes() const noexcept override {
    Job job = job_;
    return deal(nullptr, job);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Job job = job_;
    job.carriers = reinterpret_cast<const float2*>(io.in[0].data);
    job.found_at = io.in[0].count;
    for (std::size_t o = 0; o < 4; ++o) job.counts[o] = io.out[o].count;
    job.y = reinterpret_cast<float2*>(io.out[0].data);
    job.h = reinterpret_cast<float2*>(io.out[1].data);
    job.noise = reinterpret_cast<float*>(io.out[2].data);
    job.phase = reinterpret_cast<float*>(io.out[3].data);
    deal(io.device_scratch, job);
    const cudaStream_t stream = gpu::stream_of(view);
    const Extents& e = job.e;
    const auto frames = static_cast<unsigned>(io.in[0].length);
    const auto symbols = static_cast<unsigned>(e.symbols), data_symbols = static_cast<unsigned>(e.data_symbols());
    measure_symbols<<<std::max(frames * symbols, 1u), kThreads, 0, stream>>>(job);
    if (frames == 0) return;
    fit_frames<<<frames, kFitThreads, 0, stream>>>(job);
    const auto rough_bytes = static_cast<std::size_t>((kTile + kTaps) * e.pairs()) * sizeof(float2);
    estimate_channel<<<frames * gpu::groups_of(e.carriers, kTile), kFilterThreads, rough_bytes, stream>>>(job);
    write_vectors<<<frames * data_symbols, kThreads, 0, stream>>>(job);
  }

 private:
  /// Assigns the job its memory between kernels; returns its size.
  std::size_t deal(std::byte* memory, Job& job) const noexcept {
    std::size_t at = 0;
    const auto take = [&]<class T>(T*& piece, std::int64_t count) {
      piece = reinterpret_cast<T*>(memory + at);
      at = (at + static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    };
    take(job.found, 1);
    take(job.sums, most_ * job.e.symbols * kMostAntennas);
    take(job.spoilt, most_ * job.e.symbols);
    take(job.fits, most_);
    take(job.pilot_h, most_ * job.e.pilots * job.e.pairs());
    return at;
  }

  gpu::DeviceArray<float2> known_, ramp_, uncover_, pilot_weights_;
  gpu::DeviceArray<float> taps_, pilot_signs_;
  gpu::DeviceArray<std::int32_t> first_, odd_, pilot_, data_, place_;
  std::int64_t most_;
  Job job_{};
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::mimo_channel_estimator
