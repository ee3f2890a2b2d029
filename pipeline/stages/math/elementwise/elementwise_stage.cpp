// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/elementwise/elementwise_stage.hpp"

#include <cmath>
#include <limits>

namespace iqd::elementwise {
namespace {

/// The range of an integer type.
std::pair<double, double> range_of(Element e) {
  if (e == Element::i16) return {std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()};
  return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
}
bool is_whole(std::complex<double> value, Element e) {
  const auto [least, most] = range_of(e);
  return value.imag() == 0 && value.real() == std::floor(value.real()) && value.real() >= least && value.real() <= most;
}

float rounded(double x) {
  return static_cast<float>(x);
}
Number rounded(std::complex<double> x) {
  return {{rounded(x.real()), rounded(x.imag())}, is_whole(x, Element::i32) ? static_cast<int>(x.real()) : 0};
}

}  // namespace

std::string fault_of(std::complex<double> value, Element element) {
  const auto fits = [](double x) { return !std::isfinite(x) || std::isfinite(rounded(x)); };
  if (!fits(value.real()) || !fits(value.imag()))
    return fmt::format("is larger than a float can be ({:.7g})", std::numeric_limits<float>::max());
  if (element == Element::cf32) return {};
  if (element == Element::f32) return value.imag() == 0 ? "" : "has to be real: the input is f32";
  const auto [least, most] = range_of(element);
  return is_whole(value, element) ? ""
                                  : fmt::format("has to be a whole number from {:.0f} to {:.0f}: the input is {}",
                                                least, most, name_of(element));
}

namespace keys {
#define PARAMETER(kind, key, preset, ...) visitor.field(#key, key, {__VA_ARGS__});
#define OP(name, inputs, input, outputs, list, ...)           \
  void name::fields([[maybe_unused]] FieldVisitor& visitor) { \
    list                                                      \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
#define PARAMETER(kind, key, ...) \
  if (const std::string fault = fault_of(key, element); !fault.empty()) section.problem(#key, fault);
#define OP(name, inputs, input, outputs, list, ...)                                                   \
  void name::check([[maybe_unused]] Element element, [[maybe_unused]] const Section& section) const { \
    list                                                                                              \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
#define PARAMETER(kind, key, ...) op.p.key = rounded(key);
#define OP(name, inputs, input, outputs, list, ...) \
  op::name name::operation() const {                \
    op::name op;                                    \
    list return op;                                 \
  }
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace keys

namespace names {
#define PARAMETER(...)
#define OP(name, ...) constexpr std::string_view name = #name;
#include "pipeline/stages/math/elementwise/ops.def"
#undef OP
}  // namespace names

std::vector<StageEntry> entries() {
  return {
#define OP(name, inputs, input, outputs, list, expression, sample, help) \
  entry_of<op::name, names::name>(inputs, outputs, sample, help),
#include "pipeline/stages/math/elementwise/ops.def"
#undef PARAMETER
#undef OP
  };
}

}  // namespace iqd::elementwise
