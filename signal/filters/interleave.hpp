// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element.hpp"

namespace iqd {

/// Moves sample n of channel c, of `bytes` (1, 2, 4 or 8), to n * channels + c. `pitch`: samples from one channel of
/// `from` to the next.
void interleave(const std::byte* from, std::size_t bytes, std::int64_t channels, std::int64_t pitch,
                std::int64_t samples, std::byte* to) noexcept;

/// The real and the imaginary parts of n samples; those of sc16 with 1 as full scale.
void split(const cf32* x, std::int64_t n, float* re, float* im) noexcept;
void split(const sc16* x, std::int64_t n, float* re, float* im) noexcept;

}  // namespace iqd
