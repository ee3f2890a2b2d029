// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

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

/// The sum of the weights length - |k| of what there is, `before` samples before one and `behind` behind it.
IQD_HOST_DEVICE inline double weight_of(std::int64_t length, std::int64_t before, std::int64_t behind) noexcept {
  const std::int64_t a = before < length - 1 ? before : length - 1, b = behind < length - 1 ? behind : length - 1;
  return static_cast<double>(length * (1 + a + b) - a * (a + 1) / 2 - b * (b + 1) / 2);
}

std::size_t scratch_bytes(std::int64_t length) noexcept;

/// x begins at position `first`, y at `out_first`. For cf32 and float.
template <class Sample> void run_cpu(std::int64_t length, View<const Sample, 2> x, std::int64_t first,
                                     View<Sample, 2> y, std::int64_t out_first, std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(std::int64_t length, Element element, std::int64_t most_new);

}  // namespace iqd::dc_block
