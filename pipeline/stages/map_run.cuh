// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/map_rows.cuh"
#include "pipeline/stage/stage.hpp"

namespace iqd::dsp {

/// Whether `F` of gpu/map_rows.cuh uses the element's index in the stream.
enum class Index : std::uint8_t { unused, in_stream };

/// The CUDA half of a stage whose outputs depend on the inputs' elements of the same index. `counted`: the inputs give
/// the number of positions, instead of the stream.
template <class F, Index index> class MapRun final : public StageRun {
 public:
  explicit MapRun(const F& f, bool counted = false) : f_(f), counted_(counted) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    gpu::MapJob job{.positions = io.out[0].length, .item = io.out[0].item};
    if (index == Index::in_stream) job.first_at = io.out[0].first_at;
    for (int i = 0; i < F::kInputs; ++i) {
      const PortIo& in = io.in[static_cast<std::size_t>(i)];
      const std::int64_t skipped = (io.out[0].first - in.first) * in.item;
      job.x[i] = in.data + skipped * static_cast<std::int64_t>(sizeof(typename F::Input));
      job.x_pitch[i] = in.pitch;
      if (counted_) job.count[i] = in.count;
    }
    for (int o = 0; o < F::kOutputs; ++o) {
      const PortIo& out = io.out[static_cast<std::size_t>(o)];
      job.y[o] = out.data;
      job.y_pitch[o] = out.pitch;
      job.count_out[o] = out.count;
    }
    gpu::put_map_rows<kBatch>(f_, job, io.out[0].rows, gpu::stream_of(stream));
  }

 private:
  static constexpr int kBatch = 4;  // elements a thread, if rows are not aligned

  F f_;
  bool counted_;
};

}  // namespace iqd::dsp
