// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/arithmetic.hpp"

/// The operations of ops.def for host and device code. NVRTC compiles this too: no standard library. Each `name` is
/// `op::name`, a function object with its parameters `p`. It takes two elements of a type and ignores the second if the
/// operation has one input. It returns the output's element, or a Pair for two outputs.
namespace iqd::elementwise {

template <class... T> struct Types {};
/// The meaning of a type name in ops.def.
namespace type {
using cf32 = Types<Complex>;
using f32 = Types<float>;
using number = Types<Complex, float, int, short>;
}  // namespace type
namespace parameter {
using real = float;
using number = Number;
}  // namespace parameter

/// The number of names in a port list of ops.def.
IQD_HOST_DEVICE constexpr int words(const char* text) {
  int n = 1;
  for (; *text; ++text) n += *text == ' ' ? 1 : 0;
  return n;
}

namespace op {
#define PARAMETER(kind, key, ...) parameter::kind key{};
#define OP(name, inputs, input, outputs, list, expression, ...)                                                      \
  struct name {                                                                                                      \
    using Input = type::input;                                                                                       \
    static constexpr int kInputs = words(inputs);                                                                    \
    static constexpr int kOutputs = words(outputs);                                                                  \
    struct Parameters {                                                                                              \
      list                                                                                                           \
    } p;                                                                                                             \
    template <class X> IQD_HOST_DEVICE constexpr auto operator()([[maybe_unused]] X x, [[maybe_unused]] X y) const { \
      return expression;                                                                                             \
    }                                                                                                                \
  };
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace op

template <class Result> struct OutputOf { using Type = Result; };
template <class T> struct OutputOf<Pair<T>> { using Type = T; };

/// An operation on elements of type X, as loops and kernels call it: with the inputs' elements, references to the
/// outputs' elements, and their index, which is not used.
template <class Op, class X> struct Called {
  using Input = X;
  using Output = typename OutputOf<decltype(Op()(X(), X()))>::Type;
  static constexpr int kInputs = Op::kInputs;
  static constexpr int kOutputs = Op::kOutputs;

  Op op;

  IQD_HOST_DEVICE constexpr void operator()(X x, Output& y, long long) const requires(kInputs == 1 && kOutputs == 1) {
    y = op(x, X());
  }
  IQD_HOST_DEVICE constexpr void operator()(X x0, X x1, Output& y, long long) const
      requires(kInputs == 2 && kOutputs == 1) {
    y = op(x0, x1);
  }
  IQD_HOST_DEVICE constexpr void operator()(X x, Output& y0, Output& y1, long long) const
      requires(kInputs == 1 && kOutputs == 2) {
    const auto both = op(x, X());
    y0 = both.first;
    y1 = both.second;
  }
};

}  // namespace iqd::elementwise
