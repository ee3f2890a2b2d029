// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y(n) = x(n) - m(n), m(n) = sum over |k| < length of (length - |k|) x(n + k) / length^2: removes DC and frequencies
/// near it. m is a moving average of `length` samples, applied twice and centred, so y has no phase shift and no delay.
///
/// x, y  [row][n]  cf32 or f32
///
/// At the start and end of the stream the weights cover only the samples that exist, so a constant gives 0 everywhere.
/// A NaN or infinity spoils only the samples less than `length` away. Keeps nothing between calls.
namespace iqd::dc_block {

struct Config {
  std::int64_t length = 1024;

  void fields(FieldVisitor& visitor);
};

/// The sum of the weights length - |k|, for a sample with `before` samples before it and `behind` after it.
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
