// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/elementwise/elementwise.hpp"

// Plain loops, compiled once for each kind of CPU, which the compiler vectorises. It may neither fuse nor reorder, so a
// vector's lanes and the rest of a row give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/math/elementwise/elementwise_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::elementwise::HWY_NAMESPACE {

template <class X, class Op>
HWY_INLINE void loop(const Op& op, const void* const* in, void* const* out, std::int64_t n) {
  using F = Called<Op, X>;
  using Y = typename F::Output;
  const F f{op};
  const X* const x0 = static_cast<const X*>(in[0]);
  const X* const x1 = static_cast<const X*>(in[F::kInputs - 1]);
  Y* const y0 = static_cast<Y*>(out[0]);
  Y* const y1 = static_cast<Y*>(out[F::kOutputs - 1]);
  for (std::int64_t i = 0; i < n; ++i)
    if constexpr (F::kInputs == 2)
      f(x0[i], x1[i], y0[i], i);
    else if constexpr (F::kOutputs == 2)
      f(x0[i], y0[i], y1[i], i);
    else
      f(x0[i], y0[i], i);
}

template <class Op, class... X>
void loops(Types<X...>, const Op& op, Element type, const void* const* in, void* const* out, std::int64_t n) {
  ((type == kElement<X> ? loop<X>(op, in, out, n) : void()), ...);
}

#define PARAMETER(...)
#define OP(name, ...)                                                                                    \
  void name(const op::name& op, Element type, const void* const* in, void* const* out, std::int64_t n) { \
    loops(op::name::Input(), op, type, in, out, n);                                                      \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP

}  // namespace iqd::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::elementwise {

#define PARAMETER(...)
#define OP(name, ...) HWY_EXPORT(name);
#include "pipeline/stages/math/elementwise/ops.def"
#undef OP
#define OP(name, ...)                                                                                              \
  void apply(const op::name& op, Element type, const void* const* in, void* const* out, std::int64_t n) noexcept { \
    HWY_DYNAMIC_DISPATCH(name)(op, type, in, out, n);                                                              \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP

}  // namespace iqd::elementwise
#endif
