// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/convolution.hpp"

namespace iqd {

/// The convolutions of a backend: the processor's own, or what a device brings. Throws SetupError where it brings none.
const ConvolutionTable& convolutions_of(const Backend& backend);

/// As `iqd tune --convolution` found it for this shape on this kind of device, or else by the table's rule.
ConvolutionChoice choose_convolution(const Backend& backend, const ConvolutionShape& shape);

}  // namespace iqd
