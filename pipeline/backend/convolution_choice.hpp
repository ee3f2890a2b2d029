// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd {

/// The convolutions of the CPU or of a device. Throws SetupError if the device has none.
const ConvolutionTable& convolutions_of(const Backend& backend);

/// The choice that `iqd tune --convolution` found for this shape on this kind of device, else that of the table's rule.
ConvolutionChoice choose_convolution(const Backend& backend, const ConvolutionShape& shape);

}  // namespace iqd
