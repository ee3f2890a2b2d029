// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/acpr_meter/acpr_meter.hpp"
#include "pipeline/stages/transmit/channel_meter.cuh"

namespace iqd::acpr_meter {
namespace {

__global__ void write_counts(std::int32_t* levels, std::int32_t* spectrum, std::int32_t count) {
  *levels = *spectrum = count;
}

class Run final : public StageRun {
 public:
  Run(const Bands& bands, std::int64_t size, std::int64_t average) : meter_(bands, size, average) {}

  std::size_t device_scratch_bytes() const noexcept override { return meter_.scratch_bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const PortIo &in = io.in[0], &levels = io.out[0], &spectrum = io.out[1];
    const cudaStream_t stream = gpu::stream_of(view);
    std::int64_t frames = 0;
    for (std::int64_t row = 0; row < in.rows; ++row)
      frames = meter_.run(in.row<const float2>(row) + (io.first_new - in.first), io.end_new - io.first_new,
                          levels.row<float>(row), spectrum.row<float>(row), io.device_scratch, stream);
    write_counts<<<1, 1, 0, stream>>>(levels.count, spectrum.count, frames > 0 ? 1 : 0);
  }

 private:
  CudaMeter meter_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::acpr_meter
