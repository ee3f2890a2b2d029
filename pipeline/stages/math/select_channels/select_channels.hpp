// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y(k, n) = x(channels(k), n): selects channels of a stream, in any order; a channel may be named several times.
///
/// x  [row][n]  cf32, sc16, f32
/// y  [k][n]    the same element; [n] if one channel is named
///
/// Copies bit by bit. Keeps nothing between calls.
namespace iqd::select_channels {

struct Config {
  std::vector<std::int64_t> channels;

  void fields(FieldVisitor& visitor);
};

/// The CUDA half. `bytes` is the size of an element, a multiple of 4.
using CudaHalf = std::unique_ptr<StageRun>(const std::vector<std::int64_t>& channels, std::int64_t bytes);

}  // namespace iqd::select_channels
