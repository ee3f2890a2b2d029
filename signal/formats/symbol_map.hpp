// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "signal/formats/qam.hpp"

/// The maps of qam.hpp and BPSK, whose points are 1 (bit 0) and -1. A symbol's number is its bits, the first the
/// highest; points have mean power 1.
namespace iqd {

enum class SymbolMap : std::uint8_t { bpsk, qpsk, qam16, qam64, qam256 };
inline std::span<const std::string_view> enum_names(SymbolMap) {
  static constexpr std::string_view names[] = {"bpsk", "qpsk", "16qam", "64qam", "256qam"};
  return names;
}
IQD_HOST_DEVICE constexpr int bits_of(SymbolMap m) noexcept {
  return m == SymbolMap::bpsk ? 1 : 2 * static_cast<int>(m);
}
/// Bits per axis.
IQD_HOST_DEVICE constexpr int axis_bits(SymbolMap m) noexcept {
  return m == SymbolMap::bpsk ? 1 : static_cast<int>(m);
}
/// Factor of the odd numbers of qam::amplitude.
IQD_HOST_DEVICE inline float axis_scale(SymbolMap m) noexcept {
  return m == SymbolMap::bpsk ? 1.0f : 1 / sqrtf(static_cast<float>(qam::power(axis_bits(m))));
}
inline cf32 point_of(SymbolMap m, unsigned number) noexcept {
  if (m == SymbolMap::bpsk) return number & 1 ? -1.0f : 1.0f;
  unsigned real = 0, imag = 0;
  for (int b = axis_bits(m) - 1; b >= 0; --b) {
    real = real << 1 | (number >> (2 * b + 1) & 1);
    imag = imag << 1 | (number >> (2 * b) & 1);
  }
  const auto level = [m](unsigned label) {
    return axis_scale(m) * static_cast<float>(qam::amplitude(axis_bits(m), label));
  };
  return {level(real), level(imag)};
}

}  // namespace iqd
