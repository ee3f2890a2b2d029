// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the expressions of ops.def are rounded as on the CPU.
#include "gpu/map_rows.cuh"
#include "pipeline/stages/dsp/elementwise/elementwise_cuda.hpp"

namespace iqd::elementwise {
namespace {

constexpr int kBatch = 4;  // of a thread, where rows are not aligned

template <class Op, class X> class Run final : public StageRun {
 public:
  Run(const Op& op, bool counted) : op_(op), counted_(counted) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    gpu::put_map_rows<kBatch, Op, X>(op_, job_of(io), io.out[0].rows, gpu::stream_of(stream));
  }

 private:
  gpu::MapJob job_of(const StageIo& io) const noexcept {
    const PortIo& x0 = io.in[0];
    const PortIo& x1 = io.in[Op::kInputs - 1];
    const PortIo& out = io.out[0];
    const auto at = [&](const PortIo& in) {
      return in.data + (out.first - in.first) * in.item * static_cast<std::int64_t>(sizeof(X));
    };
    return {{at(x0), at(x1)}, out.data, {x0.pitch, x1.pitch},          out.pitch,
            out.length,       out.item, counted_ ? x0.count : nullptr, out.count};
  }

  Op op_;
  bool counted_;
};

template <class Op> std::unique_ptr<StageRun> make(const Op& op, [[maybe_unused]] Element in, bool counted) {
  if constexpr (Op::Input::template kContain<float>)
    if (in == Element::f32) return std::make_unique<Run<Op, float>>(op, counted);
  if constexpr (Op::Input::template kContain<Complex>) return std::make_unique<Run<Op, Complex>>(op, counted);
  return nullptr;
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{
#define PARAMETER(...)
#define OP(name, ...) .make_##name = make<op::name>,
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
  };
  return &half;
}

}  // namespace iqd::elementwise
