// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/elementwise/elementwise.hpp"

namespace iqd::elementwise {

/// Makes an operation ready for inputs of a type. `counted`: as many positions as the inputs say, instead of those of a
/// stream.
template <class Op> using MakeCuda = std::unique_ptr<StageRun> (*)(const Op& op, Element in, bool counted);

/// What the CUDA backend brings for the operations of ops.def.
struct CudaHalf {
#define PARAMETER(...)
#define OP(name, ...)                                                                  \
  MakeCuda<op::name> make_##name;                                                      \
  std::unique_ptr<StageRun> make(const op::name& op, Element in, bool counted) const { \
    return make_##name(op, in, counted);                                               \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
};

}  // namespace iqd::elementwise
