// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime.hpp"
#include "pipeline/stages/coding/pack_bits/pack_bits.hpp"
#include "pipeline/stages/items.cuh"

namespace iqd::pack_bits {
namespace {

constexpr int kThreads = 256;

struct Job {
  const std::uint8_t* bits;
  const std::int32_t* items;
  std::uint8_t* bytes;
  std::int32_t* count;
};

/// One thread per byte.
__global__ void __launch_bounds__(kThreads) pack_rows(const Setup setup, const Job job) {
  const std::int32_t items = dsp::read_once(job.items);
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x, bytes = setup.bytes();
  if (at == 0) *job.count = items;
  if (at >= items * setup.rows * bytes) return;
  job.bytes[at] = setup.byte(job.bits + at / bytes * setup.bits, at % bytes);
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup) : setup_(setup) { gpu::load_kernels("loading pack_bits", pack_rows); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Job job{.bits = io.in[0].row<const std::uint8_t>(),
                  .items = io.in[0].count,
                  .bytes = io.out[0].row<std::uint8_t>(),
                  .count = io.out[0].count};
    // A thread writes the count, also of no items.
    const std::int64_t most = io.in[0].length * setup_.rows * setup_.bytes();
    pack_rows<<<gpu::groups_of(most > 0 ? most : 1, kThreads), kThreads, 0, gpu::stream_of(view)>>>(setup_, job);
  }

 private:
  Setup setup_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::pack_bits
