// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/dsp/elementwise/elementwise.hpp"

// Plain loops, compiled once for each kind of processor: the compiler makes vectors of them, and since it may neither
// fuse nor reorder, a vector's lanes and the rest of a row are the same to the bit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/dsp/elementwise/elementwise_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::elementwise::HWY_NAMESPACE {

template <class X, class Op> HWY_INLINE void loop(const Op& op, [[maybe_unused]] const void* from0,
                                                  [[maybe_unused]] const void* from1, void* to, std::int64_t n) {
  using Y = decltype(op(X(), X()));
  static_assert(Op::Output::template kContain<Y>, "the output that ops.def names is not what the expression gives");
  const Op f = op;
  const X* const x = static_cast<const X*>(from0);
  Y* const y = static_cast<Y*>(to);
  if constexpr (Op::kInputs == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i], X());
  } else {
    const X* const x1 = static_cast<const X*>(from1);
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i], x1[i]);
  }
}

template <class Op> void loops(const Op& op, Element type, const void* x, const void* y, void* to, std::int64_t n) {
  if constexpr (Op::Input::template kContain<Complex>)
    if (type == Element::cf32) loop<Complex>(op, x, y, to, n);
  if constexpr (Op::Input::template kContain<float>)
    if (type == Element::f32) loop<float>(op, x, y, to, n);
}

#define PARAMETER(...)
#define OP(name, ...)                                                                                   \
  void name(const op::name& op, Element type, const void* x, const void* y, void* to, std::int64_t n) { \
    loops(op, type, x, y, to, n);                                                                       \
  }
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP

}  // namespace iqd::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::elementwise {

#define PARAMETER(...)
#define OP(name, ...) HWY_EXPORT(name);
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef OP
#define OP(name, ...)                                                                                                 \
  void op::apply(const op::name& op, Element type, const void* x, const void* y, void* to, std::int64_t n) noexcept { \
    HWY_DYNAMIC_DISPATCH(name)(op, type, x, y, to, n);                                                                \
  }
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP

}  // namespace iqd::elementwise
#endif
