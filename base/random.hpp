// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// Hashes integers, so that random values can depend on positions only.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Uniform in (0, 1].
constexpr double uniform(std::uint64_t bits) noexcept {
  return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
}

}  // namespace iqd
