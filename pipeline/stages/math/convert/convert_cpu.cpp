// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <limits>

#include "pipeline/stages/math/convert/convert.hpp"

// Plain loops, compiled once for each kind of CPU, which the compiler vectorises.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/math/convert/convert_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::convert::HWY_NAMESPACE {

/// 2^(bits-1), and the largest value of the type that a float represents exactly.
template <class Integer> constexpr float kScale = -static_cast<float>(std::numeric_limits<Integer>::min());
template <class Integer> constexpr float kLargest = kScale<Integer> - (sizeof(Integer) < 4 ? 1.0f : 128.0f);

HWY_INLINE float float_of(float x) {
  return x;
}
HWY_INLINE float float_of(std::int8_t x) {
  return static_cast<float>(x) * (1 / kScale<std::int8_t>);
}
HWY_INLINE float float_of(std::int16_t x) {
  return static_cast<float>(x) * (1 / kScale<std::int16_t>);
}
HWY_INLINE float float_of(std::int32_t x) {
  return static_cast<float>(x) * (1 / kScale<std::int32_t>);
}

/// The exponent moves from bias 15 to bias 127; for infinity and NaN it becomes the largest. Numbers with exponent 0
/// are normalised by a subtraction, which is exact.
HWY_INLINE float float_of(f16 x) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7fff) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t exponent = magnitude & 0x0f800000;
  const std::uint32_t word = magnitude + (112u << 23) + (exponent == 0x0f800000 ? 112u << 23 : 0);
  const float small = std::bit_cast<float>(word + (1u << 23)) - std::bit_cast<float>(113u << 23);
  const std::uint32_t bits = exponent == 0 ? std::bit_cast<std::uint32_t>(small) : word;
  return std::bit_cast<float>(bits | sign);
}

/// Rounds to a whole number, halves to even. A float of 2^23 or more is whole, so adding 2^23 rounds the fraction away.
template <bool small> HWY_INLINE float rounded(float v) {
  if (small) return (v + 0x1.8p23f) - 0x1.8p23f;
  const float whole = v < 0 ? -0x1p23f : 0x1p23f;
  const float size = v < 0 ? -v : v;
  return size < 0x1p23f ? (v + whole) - whole : v;
}

template <class To> struct FromFloat;
template <> struct FromFloat<float> {
  static HWY_INLINE float of(float x) { return x; }
};

template <class Integer>
requires std::numeric_limits<Integer>::is_integer struct FromFloat<Integer> {
  static HWY_INLINE Integer of(float x) {
    float v = x * kScale<Integer>;
    const bool above = v > kLargest<Integer>;
    v = v == v ? v : 0.0f;
    v = above ? kLargest<Integer> : v;
    v = v < -kScale<Integer> ? -kScale<Integer> : v;
    v = rounded<sizeof(Integer) < 4>(v);
    const auto integer = static_cast<std::int32_t>(v);
    return static_cast<Integer>(above ? std::numeric_limits<Integer>::max() : integer);
  }
};

/// Normal numbers: adds just under half of the last bit that is kept, and 1 more if that bit is odd; the carry may
/// reach the exponent. Small ones: adding 1/2 rounds their fraction and moves it into place.
template <> struct FromFloat<f16> {
  static HWY_INLINE f16 of(float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = word >> 16 & 0x8000;
    const std::uint32_t magnitude = word & 0x7fffffff;
    const std::uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - (126u << 23);
    const std::uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    std::uint32_t half = magnitude < (113u << 23) ? small : normal;
    half = magnitude >= 0x477ff000 ? special : half;
    return {static_cast<std::uint16_t>(half | sign)};
  }
};

template <class From, class To> void loop(const void* from, void* to, std::int64_t n) {
  const From* const x = static_cast<const From*>(from);
  To* const y = static_cast<To*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i] = FromFloat<To>::of(float_of(x[i]));
}

template <class From> void convert_from(const void* x, Element to, void* y, std::int64_t n) {
  switch (to) {
    case Element::f16: return loop<From, f16>(x, y, n);
    case Element::i8: return loop<From, std::int8_t>(x, y, n);
    case Element::i16: return loop<From, std::int16_t>(x, y, n);
    case Element::i32: return loop<From, std::int32_t>(x, y, n);
    default: return loop<From, float>(x, y, n);
  }
}

void convert_real(Element from, const void* x, Element to, void* y, std::int64_t n) {
  switch (from) {
    case Element::f16: return convert_from<f16>(x, to, y, n);
    case Element::i8: return convert_from<std::int8_t>(x, to, y, n);
    case Element::i16: return convert_from<std::int16_t>(x, to, y, n);
    case Element::i32: return convert_from<std::int32_t>(x, to, y, n);
    default: return convert_from<float>(x, to, y, n);
  }
}

}  // namespace iqd::convert::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::convert {
namespace {

HWY_EXPORT(convert_real);

/// The type of a complex number's parts.
constexpr Element part_of(Element e) {
  if (e == Element::sc16) return Element::i16;
  return e == Element::cf32 ? Element::f32 : e;
}

}  // namespace

void convert_row(Element from, const void* x, Element to, void* y, std::int64_t n) noexcept {
  if (from == to) {
    if (n > 0) std::memcpy(y, x, static_cast<std::size_t>(n) * size_of(from));
    return;
  }
  HWY_DYNAMIC_DISPATCH(convert_real)(part_of(from), x, part_of(to), y, traits(from).complex ? 2 * n : n);
}

}  // namespace iqd::convert
#endif
