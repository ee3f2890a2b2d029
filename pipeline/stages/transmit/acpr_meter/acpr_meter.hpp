// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// How clean a transmission is: what lies beside its carriers, of the averaged spectrum of a block.
///
/// x         cf32 [n]      a block; its first frame begins where it begins, the others half a frame later each
/// spectrum  f32 [bin]     dB; a tone of amplitude 1 on a bin reads 0; bin size/2 is 0 Hz
/// levels    f32 [level]   by kLevels: the power of one carrier (their mean) in dB of full scale, all others in dB of
///                         that, dBc
///
/// NaN: a level that cannot be told, as its band reaches over the edge of the spectrum or into that of a carrier; all
/// where the carriers have no power, and where samples are not finite. Nothing reads less than -200. No whole frame:
/// nothing is written. Depends on how the stream is cut into blocks. Keeps nothing between calls.
namespace iqd::acpr_meter {

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Bands& bands, std::int64_t size, std::int64_t average);

}  // namespace iqd::acpr_meter
