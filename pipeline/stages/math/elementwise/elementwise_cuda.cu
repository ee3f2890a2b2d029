// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the expressions of ops.def are rounded as on the CPU.
#include "pipeline/stages/map_run.cuh"
#include "pipeline/stages/math/elementwise/elementwise.hpp"

namespace iqd::elementwise {
namespace {

template <class X, class Op> void make_for(const Op& op, Element in, bool counted, std::unique_ptr<StageRun>& run) {
  if (in == kElement<X>)
    run = std::make_unique<dsp::MapRun<Called<Op, X>, dsp::Index::unused>>(Called<Op, X>{op}, counted);
}
template <class Op, class... X> std::unique_ptr<StageRun> make_of(Types<X...>, const Op& op, Element in, bool counted) {
  std::unique_ptr<StageRun> run;
  (make_for<X>(op, in, counted, run), ...);
  return run;
}
template <class Op> std::unique_ptr<StageRun> make(const Op& op, Element in, bool counted) {
  return make_of(typename Op::Input(), op, in, counted);
}

constexpr CudaHalf kHalf{
#define PARAMETER(...)
#define OP(name, ...) .make_##name = make<op::name>,
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
};

}  // namespace

IQD_CUDA_HALF(kHalf)

}  // namespace iqd::elementwise
