// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/format.hpp"

#include <bit>
#include <stdexcept>

namespace iqd::sim {

Format format_named(const std::string& name) {
  if (name == "CF32") return Format::cf32;
  if (name == "CS16") return Format::cs16;
  throw std::invalid_argument("iqdsim: format " + name + " is not offered; CF32 and CS16 are");
}

void to_cs16(std::span<const cf32> samples, std::int16_t* __restrict out) noexcept {
  // Adding 1.5 * 2^23 leaves the rounded number in the low bits, which compilers turn into vector code; lrint they do
  // not.
  constexpr float kRound = 12582912.0f;
  const auto* __restrict x = reinterpret_cast<const float*>(samples.data());
  for (std::size_t i = 0; i < 2 * samples.size(); ++i) {
    float scaled = x[i] * static_cast<float>(kFullScale);
    scaled = scaled < -32768.0f ? -32768.0f : scaled;
    scaled = scaled > 32767.0f ? 32767.0f : scaled;
    out[i] = static_cast<std::int16_t>(std::bit_cast<std::int32_t>(scaled + kRound));
  }
}

void from_cs16(const std::int16_t* __restrict samples, std::span<cf32> out) noexcept {
  auto* __restrict x = reinterpret_cast<float*>(out.data());
  for (std::size_t i = 0; i < 2 * out.size(); ++i)
    x[i] = static_cast<float>(samples[i]) / static_cast<float>(kFullScale);
}

}  // namespace iqd::sim
