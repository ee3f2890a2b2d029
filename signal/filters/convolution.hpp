// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd {

/// On the calling thread, in single precision. Methods: `direct`, by the definition; `fft`, one transform for each
/// packet; `overlap`, transforms of a chosen size one behind the other (overlap-save). Two filters are first made one.
const ConvolutionTable& cpu_convolution();

}  // namespace iqd
