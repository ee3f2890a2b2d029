// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/filters/dc_block/level.hpp"

/// y(n) = x(n) - m(n), m(n) = sum over |k| < length of (length - |k|) x(n + k) / length^2: takes DC and what is near it
/// away. m is a moving average of `length` samples, twice; centred, so what is left keeps its phase, without a delay.
///
/// x, y  [row][n]  cf32 or f32
///
/// Where the stream begins or ends, weights are over the samples that there are, so a constant is 0 everywhere. What is
/// not finite spoils the samples nearer than `length` to it, and no more. Keeps nothing between calls.
namespace iqd::dc_block {

struct Config {
  std::int64_t length = 1024;

  void fields(FieldVisitor& visitor);
};

std::size_t scratch_bytes(std::int64_t length) noexcept;

/// x begins at position `first`, y at `out_first`. For cf32 and float.
template <class Sample> void run_cpu(std::int64_t length, View<const Sample, 2> x, std::int64_t first,
                                     View<Sample, 2> y, std::int64_t out_first, std::byte* scratch) noexcept;

}  // namespace iqd::dc_block
