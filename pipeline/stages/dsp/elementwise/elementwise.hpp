// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/dsp/elementwise/arithmetic.hpp"

/// The operations of ops.def. Each `name` there is `op::name`, a function object with its parameters:
///
///   run_cpu<cf32>(op::multiply_const{{.value = {2, 0}}}, x, y)
///   x  [row][n]  cf32 or f32, as the operation's line says; with two inputs: x0, x1
///   y  [row][n]  as the line says; may be x
///
/// y(r, n) depends on x(r, n) alone, in single precision, every product and sum rounded once (no fused multiply-add):
/// the result is the same to the bit however the stream is cut and on every processor. NaN and infinity go through as
/// the expression has them; a power overflows above 1.8e19, and so does a magnitude. Keeps nothing between calls.
namespace iqd::elementwise {

/// A parameter as it is configured, and as the expression sees it.
struct Written {
  using real = double;
  using complex = std::complex<double>;
};
struct Rounded {
  using real = float;
  using complex = Complex;
};
constexpr float rounded(double x) {
  return static_cast<float>(x);
}
constexpr Complex rounded(std::complex<double> x) {
  return {rounded(x.real()), rounded(x.imag())};
}

/// The types that a word of ops.def stands for.
template <class... T> struct Types {
  template <class U> static constexpr bool kContain = (std::is_same_v<T, U> || ...);
};
namespace type {
using cf32 = Types<Complex>;
using f32 = Types<float>;
using number = Types<Complex, float>;
}  // namespace type

/// The parameters of each operation, and what fills them.
namespace parameters {
#define PARAMETER(kind, key, preset, ...) typename Kind::kind key = preset;
#define OP(name, inputs, input, output, list, ...)           \
  template <class Kind> struct name { list };                \
  void read_fields(name<Written>& p, FieldVisitor& visitor); \
  name<Rounded> rounded(const name<Written>& written);
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace parameters

namespace op {
#define PARAMETER(...)
#define OP(name, inputs, input, output, list, expression, ...)                                                 \
  struct name {                                                                                                \
    using Config = parameters::name<Written>;                                                                  \
    using Input = type::input;                                                                                 \
    using Output = type::output;                                                                               \
    static constexpr int kInputs = inputs;                                                                     \
    parameters::name<Rounded> p;                                                                               \
    template <class X> IQD_HOST_DEVICE auto operator()(X x, [[maybe_unused]] X y) const { return expression; } \
  };                                                                                                           \
  void apply(const name& op, Element type, const void* x, const void* y, void* to, std::int64_t n) noexcept;
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace op

template <class T, class Op, class To> void run_cpu(const Op& op, View<const T, 2> x, View<To, 2> y) noexcept {
  static_assert(Op::kInputs == 1);
  for (std::int64_t r = 0; r < y.extent(0); ++r)
    apply(op, element_of<T>, x.row(r).data(), nullptr, y.row(r).data(), y.extent(1));
}
template <class T, class Op, class To>
void run_cpu(const Op& op, View<const T, 2> x0, View<const T, 2> x1, View<To, 2> y) noexcept {
  static_assert(Op::kInputs == 2);
  for (std::int64_t r = 0; r < y.extent(0); ++r)
    apply(op, element_of<T>, x0.row(r).data(), x1.row(r).data(), y.row(r).data(), y.extent(1));
}

}  // namespace iqd::elementwise
