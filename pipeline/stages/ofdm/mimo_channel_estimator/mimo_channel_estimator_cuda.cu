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
        extents_(design.extents),
        most_(most) {
    constants_ = {known_.data(),       ramp_.data(),
                  uncover_.data(),     taps_.data(),
                  first_.data(),       pilot_.data(),
                  data_.data(),        place_.data(),
                  odd_.data(),         static_cast<std::int32_t>(design.odd.size()),
                  pilot_signs_.data(), pilot_weights_.data()};
    gpu::load_kernels("loading mimo_channel_estimator", measure_symbols, fit_frames, estimate_channel, write_vectors);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{extents_, most_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Job job{{extents_, most_, Scratch(io.device_scratch)}, constants_};
    job.carriers = io.in[0].row<const float2>();
    job.found_at = io.in[0].count;
    for (std::size_t o = 0; o < std::size(job.counts); ++o) job.counts[o] = io.out[o].count;
    job.doppler_count = io.out[6].count;
    job.y = io.out[0].row<float2>();
    job.h = io.out[1].row<float2>();
    job.noise = io.out[2].row<float>();
    job.phase = io.out[3].row<float>();
    job.level = io.out[4].row<float>();
    job.covariance = io.out[5].row<float2>();
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
  gpu::DeviceArray<float2> known_, ramp_, uncover_, pilot_weights_;
  gpu::DeviceArray<float> taps_, pilot_signs_;
  gpu::DeviceArray<std::int32_t> first_, odd_, pilot_, data_, place_;
  Extents extents_;
  std::int64_t most_;
  Constants constants_{};
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::mimo_channel_estimator
