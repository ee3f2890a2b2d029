// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd {

/// On the calling thread, in single precision. Methods: `direct`, by the definition; `fft`, one transform per packet;
/// `overlap`, consecutive transforms of a chosen size (overlap-save). Two filters are first joined into one.
const ConvolutionTable& cpu_convolution();

}  // namespace iqd
