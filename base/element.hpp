// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace iqd {

using cf32 = std::complex<float>;

/// One complex sample as radios send it: full scale is 32768.
struct sc16 {
  std::int16_t re = 0;
  std::int16_t im = 0;
  friend constexpr bool operator==(sc16, sc16) = default;
};

/// IEEE binary16, stored as bits; arithmetic is done in float.
struct f16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(f16, f16) = default;
};
float to_float(f16 x) noexcept;
/// Rounds to nearest even; too large values become infinite.
f16 to_f16(float x) noexcept;

/// The type of a port's elements.
enum class Element : std::uint8_t { sc16, cf32, f32, f16, i64, i32, i16, i8, u8 };

struct ElementTraits {
  Element element;
  std::string_view name;   // in YAML
  std::string_view dtype;  // in NumPy
  std::string_view sigmf;  // in SigMF and on the wire
  std::size_t size;        // bytes
  bool complex;
};

inline constexpr std::array<ElementTraits, 9> kElements{{
    {Element::sc16, "sc16", "<i2", "ci16_le", 4, true},
    {Element::cf32, "cf32", "<c8", "cf32_le", 8, true},
    {Element::f32, "f32", "<f4", "rf32_le", 4, false},
    {Element::f16, "f16", "<f2", "rf16_le", 2, false},
    {Element::i64, "i64", "<i8", "ri64_le", 8, false},
    {Element::i32, "i32", "<i4", "ri32_le", 4, false},
    {Element::i16, "i16", "<i2", "ri16_le", 2, false},
    {Element::i8, "i8", "<i1", "ri8", 1, false},
    {Element::u8, "u8", "<u1", "ru8", 1, false},
}};

constexpr const ElementTraits& traits(Element e) noexcept {
  return kElements[static_cast<std::size_t>(e)];
}
constexpr std::size_t size_of(Element e) noexcept {
  return traits(e).size;
}
constexpr std::string_view name_of(Element e) noexcept {
  return traits(e).name;
}
std::optional<Element> element_named(std::string_view name) noexcept;

template <class T> struct ElementOf;
template <> struct ElementOf<sc16> { static constexpr Element value = Element::sc16; };
template <> struct ElementOf<cf32> { static constexpr Element value = Element::cf32; };
template <> struct ElementOf<float> { static constexpr Element value = Element::f32; };
template <> struct ElementOf<f16> { static constexpr Element value = Element::f16; };
template <> struct ElementOf<std::int64_t> { static constexpr Element value = Element::i64; };
template <> struct ElementOf<std::int32_t> { static constexpr Element value = Element::i32; };
template <> struct ElementOf<std::int16_t> { static constexpr Element value = Element::i16; };
template <> struct ElementOf<std::int8_t> { static constexpr Element value = Element::i8; };
template <> struct ElementOf<std::uint8_t> { static constexpr Element value = Element::u8; };
template <class T> inline constexpr Element element_of = ElementOf<std::remove_const_t<T>>::value;

/// Calls `f` with a value of the C++ type that `e` stands for.
template <class F> decltype(auto) with_element(Element e, F&& f) {
  switch (e) {
    case Element::sc16: return f(sc16{});
    case Element::cf32: return f(cf32{});
    case Element::f32: return f(float{});
    case Element::f16: return f(f16{});
    case Element::i64: return f(std::int64_t{});
    case Element::i32: return f(std::int32_t{});
    case Element::i16: return f(std::int16_t{});
    case Element::i8: return f(std::int8_t{});
    case Element::u8: break;
  }
  return f(std::uint8_t{});
}

}  // namespace iqd
