// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the expressions of ops.def are rounded as on the CPU.
#include "gpu/map_rows.cuh"
#include "pipeline/stages/math/elementwise/elementwise_cuda.hpp"

namespace iqd::elementwise {
namespace {

constexpr int kBatch = 4;  // of a thread, where rows are not aligned

template <class F> class Run final : public StageRun {
 public:
  Run(const F& f, bool counted) : f_(f), counted_(counted) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    gpu::MapJob job{.positions = io.out[0].length, .item = io.out[0].item};
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
  F f_;
  bool counted_;
};

template <class X, class Op> void make_for(const Op& op, Element in, bool counted, std::unique_ptr<StageRun>& run) {
  if (in == kElement<X>) run = std::make_unique<Run<Called<Op, X>>>(Called<Op, X>{op}, counted);
}
template <class Op, class... X> std::unique_ptr<StageRun> make_of(Types<X...>, const Op& op, Element in, bool counted) {
  std::unique_ptr<StageRun> run;
  (make_for<X>(op, in, counted, run), ...);
  return run;
}
template <class Op> std::unique_ptr<StageRun> make(const Op& op, Element in, bool counted) {
  return make_of(typename Op::Input(), op, in, counted);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{
#define PARAMETER(...)
#define OP(name, ...) .make_##name = make<op::name>,
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
  };
  return &half;
}

}  // namespace iqd::elementwise
