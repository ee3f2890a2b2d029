// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>

namespace iqd::sim {

using cf32 = std::complex<float>;

/// The sample format that a program asked for.
enum class Format : std::uint8_t { cf32, cs16 };

constexpr double kFullScale = 32768;

/// Throws std::invalid_argument.
Format format_named(const std::string& name);
constexpr std::size_t bytes_of(Format f) noexcept {
  return f == Format::cf32 ? 8 : 4;
}
/// Rounds to nearest and saturates.
void to_cs16(std::span<const cf32> samples, std::int16_t* out) noexcept;
void from_cs16(const std::int16_t* samples, std::span<cf32> out) noexcept;

}  // namespace iqd::sim
