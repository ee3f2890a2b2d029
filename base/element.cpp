// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/element.hpp"

#include <cmath>

namespace iqd {

float to_float(f16 x) noexcept {
  const int exponent = (x.bits >> 10) & 31;
  const int fraction = x.bits & 1023;
  const float sign = x.bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

f16 to_f16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const auto with_sign = [sign](std::uint32_t low) { return f16{static_cast<std::uint16_t>(sign | low)}; };
  const float magnitude = std::fabs(x);
  if (std::isnan(x)) return with_sign(0x7e00);
  if (magnitude >= 65520.0f) return with_sign(0x7c00);
  if (magnitude < 0x1p-14f) return with_sign(static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f)));
  // Adding just under half of the last kept bit, plus that bit, rounds to nearest even and carries into the exponent.
  const std::uint32_t word = bits & 0x7fffffff;
  const std::uint32_t rounded = word + 0xfff + ((word >> 13) & 1);
  return with_sign((rounded >> 13) - ((127 - 15) << 10));
}

std::optional<Element> element_named(std::string_view name) noexcept {
  for (const ElementTraits& t : kElements)
    if (t.name == name) return t.element;
  return std::nullopt;
}

}  // namespace iqd
