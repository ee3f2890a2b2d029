// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd::gpu {

/// iqd's own methods:
///   tiled    direct; the filter and a tile of the signal in shared memory, up to eight outputs per thread
///   overlap  overlap-save in one kernel: a thread block transforms a tile, multiplies, transforms back, and writes it
///            once; each filter is transformed once, before
///   cufft    cuFFT, one transform per packet: padded copies, forward of signals and filters, product, inverse;
///            complete batches only
/// Two filters are first joined into one, or (cufft) their transforms multiplied. Methods of the thesis of the PAQ
/// project:
///   global        direct; one thread per output, all from global memory
///   shared        the same, with the filter in shared memory, loaded with one load per thread: so no more taps than
///                 threads. In the thesis a thread block may straddle two packets, and would mix their filters; here
///                 none does, at the same cost
///   cufft_padded  cufft on rows that are padded in memory, before and after
/// Two filters run one after the other in global and shared.
const ConvolutionTable& convolution_table();

}  // namespace iqd::gpu
