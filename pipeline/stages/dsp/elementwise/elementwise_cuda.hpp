// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/element.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/stages/dsp/elementwise/elementwise.hpp"

namespace iqd::elementwise {

/// Makes an operation ready for inputs of a type. `counted`: as many positions as the first input says, instead of
/// those of a stream.
template <class Op> using MakeCuda = std::unique_ptr<StageRun> (*)(const Op& op, Element in, bool counted);

/// What the CUDA backend brings for the operations of ops.def; one that is not in it has null.
struct CudaHalf {
#define PARAMETER(...)
#define OP(name, ...)                                           \
  MakeCuda<op::name> make_##name;                               \
  MakeCuda<op::name> make_for(const op::name&) const noexcept { \
    return make_##name;                                         \
  }
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
  template <class Op> MakeCuda<Op> make_for(const Op&) const noexcept {
    return nullptr;
  }
};

}  // namespace iqd::elementwise
