// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd::gpu {

/// Ours:
///   tiled    direct; the filter and a tile of the signal in shared memory, up to eight outputs a thread
///   overlap  overlap-save in one kernel: a group of threads transforms a tile, multiplies, transforms back, and writes
///            it once; the filters' transforms are made before, once each
///   cufft    cuFFT, one transform a packet: padded copies, forward of signals and filters, product, inverse;
///            takes whole batches only
/// Two filters are first made one, or (cufft) their transforms multiplied. And as the thesis of the PAQ project has it:
///   global        direct; a thread an output, all from global memory
///   shared        the same, the filter in shared memory, put there by one load of each thread: so no more taps than
///                 threads. The thesis lets a group of threads straddle two packets, and would mix their filters; here
///                 none does, at the same cost
///   cufft_padded  cufft on rows that lie padded in memory, before and after
/// Two filters run one after the other in global and shared.
const ConvolutionTable& convolution_table();

}  // namespace iqd::gpu
