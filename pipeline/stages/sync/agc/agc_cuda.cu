// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Two kernels a row: the energy of cells, then each sample's window of cells.
#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/moving_sum.cuh"
#include "pipeline/stages/sync/agc/agc.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::agc {
namespace {

struct Power {
  const float2* x;
  __device__ double operator()(std::int64_t n) const { return dsp::power_of(x[n].x, x[n].y); }
};

/// y begins at the sample `begin` of x.
__global__ void __launch_bounds__(dsp::kSumThreads)
    scale_samples(Gain gain, Power power, dsp::Places places, std::int64_t length, const double* cells, float2* y,
                  std::int64_t begin, std::int64_t count) {
  const dsp::Cells at(places);
  const std::int64_t i = std::int64_t{blockIdx.x} * dsp::kSumThreads + threadIdx.x, n = begin + i;
  if (i >= count) return;
  const double energy = at.sum(power, cells, gain.begin(n), gain.begin(n) + gain.window);
  const float factor = gain.at(n, {0, length}, energy);
  const float2 x = power.x[n];
  y[i] = {x.x * factor, x.y * factor};
}

class Run final : public StageRun {
 public:
  Run(const Gain& gain, std::int64_t most_new) : gain_(gain), piece_(std::max(most_new, gain.window)) {}

  std::size_t device_scratch_bytes() const noexcept override {
    const dsp::Places places{nullptr, 0, piece_ + gain_.window};
    return static_cast<std::size_t>(places.most_cells()) * sizeof(double);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t done = 0; done < out.length; done += piece_)
        scale(in, in.row<const float2>(row), out.row<float2>(row) + done, out.first - in.first + done,
              std::min(piece_, out.length - done), io.device_scratch, gpu::stream_of(stream));
  }

 private:
  void scale(const PortIo& in, const float2* x, float2* y, std::int64_t begin, std::int64_t count, std::byte* scratch,
             cudaStream_t stream) const noexcept {
    auto* const cells = reinterpret_cast<double*>(scratch);
    const dsp::Places places{in.first_at, std::max<std::int64_t>(0, gain_.begin(begin)),
                             std::min(in.length, gain_.begin(begin + count) + gain_.window - 1)};
    dsp::launch_cells(Power{x}, places, cells, stream);
    scale_samples<<<gpu::groups_of(count, dsp::kSumThreads), dsp::kSumThreads, 0, stream>>>(
        gain_, Power{x}, places, in.length, cells, y, begin, count);
  }

  Gain gain_;
  std::int64_t piece_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::agc
