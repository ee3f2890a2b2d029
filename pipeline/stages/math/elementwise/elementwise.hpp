// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/elementwise/operations.hpp"

/// The operations of ops.def on rows of samples. Each `name` there is `op::name` (operations.hpp), with its parameters:
///
///   const void* in[] = {x};  void* out[] = {y};
///   apply(op::multiply_const{{.value = {.complex = {2, 0}}}}, Element::cf32, in, out, n);
///
///   in, out  [n] each, of the given type and of the expression's type; an output may be an input of the same type
///
/// y(n) depends on the inputs' elements n alone. Single precision, every product and sum rounded once (no fused
/// multiply-add): the result is the same to the bit however the stream is cut and on every CPU. NaN and infinity
/// propagate as in the expression. The power and the magnitude of x overflow if |x| is above 1.8e19. Whole numbers wrap
/// around. Keeps nothing between calls.
namespace iqd::elementwise {

template <class T> inline constexpr Element kElement = element_of<T>;
template <> inline constexpr Element kElement<Complex> = Element::cf32;
template <class Op, class X> inline constexpr Element kOutput = kElement<typename Called<Op, X>::Output>;

namespace written {
using real = double;
using number = std::complex<double>;
}  // namespace written

/// Why a constant cannot be used with elements of a type; empty if it can.
inline std::string fault_of(double, Element) {
  return {};
}
std::string fault_of(std::complex<double> value, Element element);

/// The keys of each operation, and their values as parameters.
namespace keys {
#define PARAMETER(kind, key, preset, ...) written::kind key = preset;
#define OP(name, inputs, input, outputs, list, ...)            \
  struct name {                                                \
    list void fields(FieldVisitor& visitor);                   \
    void check(Element element, const Section& section) const; \
    op::name operation() const;                                \
  };
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace keys

#define PARAMETER(...)
#define OP(name, ...)                  \
  keys::name keys_of(const op::name&); \
  void apply(const op::name& op, Element type, const void* const* in, void* const* out, std::int64_t n) noexcept;
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP

/// Makes an operation ready for inputs of a type. `counted`: the inputs give the number of positions, instead of the
/// stream.
template <class Op> using MakeCuda = std::unique_ptr<StageRun> (*)(const Op& op, Element in, bool counted);

/// The CUDA half of the operations of ops.def.
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
