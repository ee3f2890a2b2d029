// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iqd::radio {

/// Sample n of channel c goes to n * channels + c. `pitch`: samples from channel to channel.
template <std::size_t Bytes>
void interleave(const std::byte* from, std::int64_t channels, std::int64_t pitch, std::int64_t samples, std::byte* to) {
  const auto step = static_cast<std::size_t>(channels) * Bytes;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::byte* source = from + static_cast<std::size_t>(c * pitch) * Bytes;
    std::byte* target = to + static_cast<std::size_t>(c) * Bytes;
    for (std::int64_t n = 0; n < samples; ++n, source += Bytes, target += step) std::memcpy(target, source, Bytes);
  }
}

}  // namespace iqd::radio
