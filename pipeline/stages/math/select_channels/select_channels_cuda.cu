// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/map_rows.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/select_channels/select_channels.hpp"

namespace iqd::select_channels {
namespace {

using Word = std::uint32_t;
constexpr std::int64_t kWord = sizeof(Word);
constexpr int kBatch = 8;  // words a thread, if rows are not aligned

struct Copy {
  using Input = Word;
  using Output = Word;
  static constexpr int kInputs = 1;
  static constexpr int kOutputs = 1;
  __device__ void operator()(Word x, Word& y, std::int64_t) const { y = x; }
};

class Run final : public StageRun {
 public:
  Run(const std::vector<std::int64_t>& channels, std::int64_t bytes) : channels_(channels), bytes_(bytes) {}

  /// One kernel per row, since `channels` usually names one or two.
  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    std::byte* y = out.data;
    for (const std::int64_t channel : channels_) {
      const std::byte* const x = in.data + channel * in.pitch + (out.first - in.first) * bytes_;
      const gpu::MapJob job{.positions = out.length,
                            .item = bytes_ / kWord,
                            .x = {x},
                            .y = {y},
                            .x_pitch = {in.pitch},
                            .y_pitch = {out.pitch}};
      gpu::put_map_rows<kBatch>(Copy(), job, 1, gpu::stream_of(stream));
      y += out.pitch;
    }
  }

 private:
  std::vector<std::int64_t> channels_;
  std::int64_t bytes_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::select_channels
