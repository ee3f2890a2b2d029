// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"

/// How a packet is cut for cma. Its taps are few, so short transforms suffice: blocks of 2048 samples, the last 1863 of
/// them new. With the taps counted from 0, c(i + kFirst), i = 0 … 185, and u the samples of a block,
///
///   Y = C U    gives y at n >= 185: the packet's sample kNew b + n - 185 in block b
///   Z U*       summed over all blocks gives the gradient at i = 0 … 185, where z is 0 for n < 185
///
/// Both C and the gradient are short in time. On a GPU they are eight transforms of 256 points each, for which threads
/// exchange points only once. Bin k = 8 k1 + k0:
///
///   C(k) = sum c(i) w^(i k0) w^(8 i k1)    g(i) = sum_k0 w^(-i k0) sum_k1 G(k) w^(-8 i k1)    w = exp(-j 2 pi / 2048)
namespace iqd::equalizer {

inline constexpr int kBlock = 2048;
inline constexpr int kOld = static_cast<int>(kTaps) - 1;
inline constexpr int kNew = kBlock - kOld;

IQD_HOST_DEVICE constexpr int count_blocks(int samples) {
  return (samples + kNew - 1) / kNew;
}
/// First sample of a block in its window.
IQD_HOST_DEVICE constexpr int block_begin(int block) {
  return static_cast<int>(PacketFormat::kGuard - kFirst) - kOld + kNew * block;
}

inline constexpr int kParts = 8;
inline constexpr int kPartSize = kBlock / kParts;
/// Distance of the parts in memory: room for 256 points in the layout of `gpu::padded`, and 16 threads with
/// neighbouring bins access 16 different banks.
inline constexpr int kPartStride = 274;
/// Index of bin k among the parts' bins.
IQD_HOST_DEVICE constexpr int bin_place(int k) {
  return k % kParts * kPartStride + k / kParts;
}

}  // namespace iqd::equalizer
