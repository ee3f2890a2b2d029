// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// The purity of a transmission: the powers beside its carriers, from the averaged spectrum of a block.
///
/// x         cf32 [n]      a block; the first frame begins with it, each other half a frame later
/// spectrum  f32 [bin]     dB; a tone of amplitude 1 on a bin reads 0; bin size/2 is 0 Hz
/// levels    f32 [level]   by kLevels: the power of one carrier (their mean) in dB of full scale; all others
///                         relative to it, in dBc
///
/// A level is NaN if its band exceeds the spectrum or overlaps a carrier's band; all are NaN if the carriers have no
/// power, or samples are not finite. No value is below -200. Without a whole frame, nothing is written. The result
/// depends on how the stream is cut into blocks. Keeps nothing between calls.
namespace iqd::acpr_meter {

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Bands& bands, std::int64_t size, std::int64_t average);

}  // namespace iqd::acpr_meter
